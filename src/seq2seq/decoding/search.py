"""The one door to the searches: how to search, as a value."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seq2seq.decoding.beam import NO_PENALTY, beam_search
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.lengths import DEFAULT_BOUNDS, LengthBounds, LengthPenalty
from seq2seq.decoding.sampling import Sampling, sample_search
from seq2seq.decoding.stepper import Models
from seq2seq.errors import InputError
from seq2seq.text.batch import SourceBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How to search for translations.

    Attributes:
        beam: hypotheses that are followed; 1 is greedy search.
        num_best: hypotheses wanted of each sentence.
        penalty: how hypotheses of different lengths are compared.
        min_length: target tokens of a source token at least.
        max_length: the same at most, and 10 more; None for what the model was trained for.
        sampling: draw the tokens instead; None to search.
        prune: nats that the others may be below the best hypothesis, see `beam`; None for any.

    Raises:
        ValueError: the values do not go together.
    """

    beam: int = 1
    num_best: int = 1
    penalty: LengthPenalty = NO_PENALTY
    min_length: float = 0.0
    max_length: float | None = None
    sampling: Sampling | None = None
    prune: float | None = None

    def __post_init__(self) -> None:
        self.bounds(DEFAULT_BOUNDS)
        if not 1 <= self.num_best <= self.beam:
            raise ValueError(f"{self.num_best} best of a beam of {self.beam}: widen the beam")
        if self.prune is not None and not 0 < self.prune < math.inf:
            raise ValueError(f"what is pruned is more than 0 nats below the best, not {self.prune}")
        if self.sampling is not None and self.beam > 1:
            raise ValueError(f"sampling follows one hypothesis, not a beam of {self.beam}")

    def bounds(self, of_model: LengthBounds) -> LengthBounds:
        """How long translations may be, by this search and by those of a model's training split."""
        if self.max_length is not None:
            of_model = LengthBounds(max_factor=self.max_length)
        return replace(of_model, min_factor=self.min_length)


GREEDY = Search()


def search_from_options(
    *,
    length_penalty: str = "none",
    alpha: float = 0.6,
    sampling: Mapping[str, Any] | None = None,
    **values: Any,
) -> Search:
    """The search that the options of a program describe; `values` are those of `Search`.

    Raises:
        InputError: a value is out of range, or two do not go together.
    """
    try:
        penalty = LengthPenalty(length_penalty, alpha)
        drawn = None if sampling is None else Sampling(**sampling)
        return Search(penalty=penalty, sampling=drawn, **values)
    except ValueError as error:
        raise InputError(str(error)) from error


def run_search(
    models: Models,
    source: SourceBatch,
    search: Search,
    *,
    numbers: Sequence[int],
    bounds: LengthBounds = DEFAULT_BOUNDS,
    prefixes: list[list[int]] | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence of a batch, the best first.

    `numbers` are those of `sample_search`, `bounds` those of the model, and `prefixes` what each
    translation has to begin with.

    Raises:
        ValueError: sampled translations are to begin with something.
    """
    bounds = search.bounds(bounds)
    if search.sampling is not None:
        if prefixes is not None:
            raise ValueError("sampling takes no prefixes")
        drawn = sample_search(models, source, search.sampling, numbers=numbers, bounds=bounds)
        return [[hypothesis] for hypothesis in drawn]
    if search.beam == 1 and prefixes is None:
        return [[h] for h in greedy_search(models, source, bounds=bounds)]
    return beam_search(
        models,
        source,
        size=search.beam,
        num_best=search.num_best,
        penalty=search.penalty,
        bounds=bounds,
        prefixes=prefixes,
        prune=search.prune,
    )
