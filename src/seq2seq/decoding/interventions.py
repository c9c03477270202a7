"""What a model says where a step's attention weights are others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.model.changed_weights import changed_weights
from seq2seq.model.memory import select_state
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.text.batch import Batch


@dataclass(frozen=True, slots=True)
class Looking:
    """What a change needs to know of a step.

    Attributes:
        most: the source token that is attended to most, by the mean of all heads.
        other: another one, drawn at random.
        order: of the tokens, drawn at random.
        is_token: True on real tokens.
    """

    most: Int[Tensor, "B 1"]
    other: Int[Tensor, "B 1"]
    order: Int[Tensor, "B S"]
    is_token: Bool[Tensor, "B S"]

    @classmethod
    def of(cls, weights: Tensor, order: Tensor, is_token: Tensor) -> "Looking":
        """Of a step's weights (B, S); the other token is the first in order that is not `most`."""
        most = weights.argmax(dim=1, keepdim=True)
        first, second = order[:, :1], order[:, 1:2]
        return cls(most, torch.where(first == most, second, first), order, is_token)


Change = Callable[[Float[Tensor, "B S"], Looking], Float[Tensor, "B S"]]


def _erased(weights: Tensor, token: Tensor) -> Tensor:
    """Without a token, and normalised again; zeros where nothing is left."""
    left = weights.scatter(1, token, 0)
    total = left.sum(dim=1, keepdim=True)
    return left / total.masked_fill(total == 0, 1)


CHANGES: dict[str, Change] = {
    "most_attended_erased": lambda weights, looking: _erased(weights, looking.most),
    "random_erased": lambda weights, looking: _erased(weights, looking.other),
    "most_attended_only": lambda w, looking: torch.zeros_like(w).scatter(1, looking.most, 1),
    "even": lambda w, looking: looking.is_token.to(w) / looking.is_token.sum(dim=1, keepdim=True),
    "permuted": lambda weights, looking: weights.gather(1, looking.order),
    "no_context": lambda weights, _: torch.zeros_like(weights),
}
"""Other weights for a step, by name."""


@torch.no_grad()
def tokens_that_stay(
    model: Seq2Seq, batch: Batch, *, seed: int, changes: Mapping[str, Change] = CHANGES
) -> tuple[Bool[Tensor, "B C T"], Float[Tensor, "B T S"]]:
    """Whether the likeliest token after each prefix of the targets is that with other weights, too.

    Weights are others in that one step: the state before it is what it was.

    Args:
        model: outside of training.
        batch: sentence pairs; what is said of padding means nothing.
        seed: decides what is drawn, with the number of a pair in its split.
        changes: which others (C).

    Returns:
        That, and the attention weights.

    Raises:
        InputError: the decoder has no attention of this program.
    """
    decoder, source = model.decoder, batch.source
    memory = model.encode(source.ids, source.lengths, source.is_token)
    rows = torch.arange(len(batch), device=model.device).repeat_interleave(len(changes))
    state, stays, attention = decoder.initial_state(memory), list[Tensor](), list[Any]()
    orders = _orders(batch, seed).to(model.device)

    def change(weights: Tensor) -> Tensor:
        looking = Looking.of(attention[-1], orders[:, len(stays)], source.is_token)
        return torch.stack([each(weights[:, 0], looking) for each in changes.values()], dim=1)

    for embedded in decoder.embedding(batch.target_input).unbind(dim=1):
        features, new, weights = decoder.step(embedded, state, memory)
        attention.append(weights)
        with changed_weights(decoder, change):
            other, _, _ = decoder.step(embedded[rows], select_state(state, rows), memory)
        said, likeliest = (decoder.output(each).argmax(dim=1) for each in (other, features))
        stays.append(said.unflatten(0, (-1, len(changes))) == likeliest.unsqueeze(1))
        state = new
    return torch.stack(stays, dim=2), torch.stack(attention, dim=1)


def _orders(batch: Batch, seed: int) -> Int[Tensor, "B T S"]:
    """A random order of the real source tokens of each pair for each step; padding stays."""
    num_steps, size = batch.target_input.shape[1], batch.source.ids.shape[1]
    orders = np.tile(np.arange(size), (len(batch), num_steps, 1))
    pairs = zip(
        orders,
        batch.sentence_ids.tolist(),
        batch.source.lengths.tolist(),
        batch.target_lengths.tolist(),
        strict=True,
    )
    for order, number, width, height in pairs:
        generator = np.random.default_rng([seed, number])
        order[:height, :width] = [generator.permutation(width) for _ in range(height)]
    return torch.from_numpy(orders)
