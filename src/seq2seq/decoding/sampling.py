"""Translations drawn at random from the model's distribution."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.decoding.greedy import follow_choices
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.lengths import DEFAULT_BOUNDS, LengthBounds
from seq2seq.decoding.stepper import Models
from seq2seq.text.batch import SourceBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How to draw.

    Attributes:
        temperature: the logits are divided by it; small values come close to greedy search.
        top_k: draw among the likeliest so many tokens only; None for all.
        seed: of the random numbers.

    Raises:
        ValueError: the temperature is not above 0, or `top_k` below 1.
    """

    temperature: float = 1.0
    top_k: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(f"the temperature is above 0, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top-k is at least 1, not {self.top_k}")


def sample_search(
    models: Models,
    source: SourceBatch,
    sampling: Sampling,
    *,
    numbers: Sequence[int],
    bounds: LengthBounds = DEFAULT_BOUNDS,
) -> list[Hypothesis]:
    """Translate a batch by drawing every token; scores are those of the model at temperature 1.

    The random numbers of a sentence are a function of its number, the seed and the step alone, so
    that the sentences beside it do not matter.
    """
    num_steps = int(bounds.greatest(source.lengths).max())
    drawn = [np.random.default_rng((sampling.seed, n)).random(num_steps) for n in numbers]
    uniform = torch.tensor(np.stack(drawn), dtype=torch.float32, device=source.ids.device)

    def choose(logits: Tensor, sentences: Tensor, step: int) -> Tensor:
        return draw(logits, uniform[sentences, step], sampling)

    return follow_choices(models, source, choose, bounds=bounds)


def draw(
    logits: Float[Tensor, "N V"], uniform: Float[Tensor, " N"], sampling: Sampling
) -> Int[Tensor, " N"]:
    """The token at which the cumulative probability first exceeds a number from [0, 1)."""
    scaled = logits / sampling.temperature
    if sampling.top_k is not None and sampling.top_k < logits.shape[-1]:
        least = scaled.topk(sampling.top_k).values[:, -1:]
        scaled = scaled.masked_fill(scaled < least, -torch.inf)
    cumulative = scaled.softmax(dim=-1).cumsum(dim=-1)
    # below the total whatever the rounding, so that a token of probability 0 is never drawn
    at = uniform.to(cumulative.dtype).clamp(max=1 - 1e-6) * cumulative[:, -1]
    return torch.searchsorted(cumulative, at.unsqueeze(1), right=True).squeeze(1)
