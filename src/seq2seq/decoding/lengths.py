"""How long translations may be, and how hypotheses of different lengths are compared."""

import sys
from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

LONGEST = 1000
"""Tokens of a sentence that are translated; time and memory grow with their square."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthBounds:
    """Least and greatest number of target tokens, relative to the source.

        least = floor(min_factor * source length),
        greatest = max(1, floor(max_factor * source length) + max_extra)

    Both lengths count ``<eos>``.

    Raises:
        ValueError: a value is not 0 to a million.
    """

    min_factor: float = 0.0
    max_factor: float = 2.0
    max_extra: int = 10

    def __post_init__(self) -> None:
        for value in (self.min_factor, self.max_factor, self.max_extra):
            if not 0 <= value <= 1e6:
                raise ValueError(f"a bound of a length is 0 to a million, not {value!r}")

    @classmethod
    def fitted(
        cls, source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer]
    ) -> "LengthBounds":
        """Twice the target tokens that a source token usually has, and 10 more, or 10 times those.

        The latter where they are more than one, as characters are for words.

        Args:
            source_lengths: tokens of the sentences of a training split, without ``<eos>``.
            target_lengths: those of their translations.
        """
        num_source, num_target = (
            int(lengths.sum(dtype=np.int64)) + len(lengths)
            for lengths in (source_lengths, target_lengths)
        )
        ratio = num_target / num_source
        return cls(max_factor=ceil(200 * ratio) / 100, max_extra=ceil(10 * max(1.0, ratio)))

    def num_over(
        self, source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer]
    ) -> int:
        """How many translations are longer than they may be; lengths as in `fitted`."""
        sources = torch.from_numpy(source_lengths.astype(np.int64)) + 1
        return int((target_lengths + 1 > self.greatest(sources).numpy()).sum())

    def least(self, source_lengths: Int[Tensor, " B"]) -> Int[Tensor, " B"]:
        """Least length of each translation; never above the greatest."""
        least = (self.min_factor * source_lengths).long()
        return torch.minimum(least, self.greatest(source_lengths))

    def greatest(self, source_lengths: Int[Tensor, " B"]) -> Int[Tensor, " B"]:
        """Greatest length of each translation."""
        return ((self.max_factor * source_lengths).long() + self.max_extra).clamp(min=1)


DEFAULT_BOUNDS = LengthBounds()


@dataclass(frozen=True, slots=True)
class LengthPenalty:
    """What a log-probability is divided by, so that long hypotheses are not at a disadvantage.

    - ``none``: 1
    - ``average``: the number of tokens l
    - ``gnmt``: ((5 + l) / 6) ^ alpha (Wu et al. 2016, equation 14, without their coverage term)

    Attributes:
        name: one of the above.
        alpha: exponent of ``gnmt``, at least 0: 0 is no penalty.

    Raises:
        ValueError: no such penalty, or a negative exponent.
    """

    name: str = "none"
    alpha: float = 0.6

    def __post_init__(self) -> None:
        if self.name not in PENALTIES:
            raise ValueError(f"no length penalty {self.name!r}: choose {', '.join(PENALTIES)}")
        if not self.alpha >= 0:
            raise ValueError(f"the exponent of a length penalty is at least 0, not {self.alpha}")

    def apply(
        self, scores: Float[Tensor, "*shape"], lengths: Int[Tensor, "..."]
    ) -> Float[Tensor, "*shape"]:
        """The values by which hypotheses are ranked."""
        if self.name == "none":
            return scores
        if self.name == "average":
            return scores / lengths
        return scores / ((5 + lengths) / 6) ** self.alpha


PENALTIES = ("none", "average", "gnmt")


def cut(ids: list[int]) -> list[int]:
    """The first `LONGEST` ids, with a line of warning where there are more."""
    if len(ids) > LONGEST:
        message = f"WARNING: of a line of {len(ids):,} tokens the first {LONGEST:,} are translated"
        print(message, file=sys.stderr)
    return ids[:LONGEST]
