"""How long the translations of a model may be."""

from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LONGEST = 1000
"""Tokens of a sentence that are translated; time and memory grow with their square."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthLimits:
    """Least and greatest number of target tokens, relative to the source.

        least = floor(min_ratio * source length),
        greatest = max(1, floor(max_ratio * source length) + max_extra)

    Both lengths count ``<eos>``.

    Raises:
        ValueError: a value is not 0 to a million.
    """

    min_ratio: float = 0.0
    max_ratio: float = 2.0
    max_extra: int = 10

    def __post_init__(self) -> None:
        for value in (self.min_ratio, self.max_ratio, self.max_extra):
            if not 0 <= value <= 1e6:
                raise ValueError(f"a bound of a length is 0 to a million, not {value!r}")

    @classmethod
    def fitted(
        cls, source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer]
    ) -> "LengthLimits":
        """Twice the target tokens that a source token usually has, and 10 more, or 10 times those.

        The latter where they are more than one, as characters are for words.

        Args:
            source_lengths: tokens of the sentences of a training split, without ``<eos>``.
            target_lengths: those of their translations.
        """
        num_source, num_target = (
            int(lengths.sum(dtype=np.int64)) + len(lengths) for lengths in (source_lengths, target_lengths)
        )
        ratio = num_target / num_source
        return cls(max_ratio=ceil(200 * ratio) / 100, max_extra=ceil(10 * max(1.0, ratio)))

    def num_over(self, source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer]) -> int:
        """How many translations are longer than they may be; lengths as in `fitted`."""
        sources = torch.from_numpy(source_lengths.astype(np.int64)) + 1
        return int((target_lengths + 1 > self.maximum(sources).numpy()).sum())

    def minimum(self, source_lengths: Tensor) -> Tensor:
        """Least length of each translation; never above the greatest."""
        least = (self.min_ratio * source_lengths).long()
        return torch.minimum(least, self.maximum(source_lengths))

    def maximum(self, source_lengths: Tensor) -> Tensor:
        """Greatest length of each translation."""
        return ((self.max_ratio * source_lengths).long() + self.max_extra).clamp(min=1)


DEFAULT_LIMITS = LengthLimits()
