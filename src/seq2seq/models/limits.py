"""Length limits of translations."""

from dataclasses import dataclass
from math import floor
from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge, Le
from numpy.typing import NDArray
from torch import Tensor

from seq2seq.common.numbers import Ratio, require_bounds

MAX_TOKENS = 1000
"""Maximum number of tokens of a sentence; further tokens are not translated. Time and memory are quadratic."""


Length = Annotated[int, Ge(0), Le(10**6)]
"""Number of tokens."""

PARTS = 10_000
"""Ratios are counted in ten-thousandths, so that a length is the same in Python and in the JavaScript of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthLimits:
    """Minimum and maximum number of target tokens for a source length.

        minimum = floor(min_ratio * source length)
        maximum = max(1, floor(max_ratio * source length) + max_extra)

    All lengths include ``<eos>``. Ratios are rounded to `PARTS`; products and quotients are those of integers.

    Attributes:
        max_source: Number of tokens that no source sentence of the training exceeds; None: not known.

    Raises:
        InputError: See `require_bounds`.
    """

    min_ratio: Ratio = 0.0
    max_ratio: Ratio = 2.0
    max_extra: Length = 10
    max_source: Length | None = None

    def __post_init__(self) -> None:
        require_bounds(self)

    @classmethod
    def fitted(
        cls, source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer]
    ) -> "LengthLimits":
        """Return limits for a corpus with r target tokens per source token.

            max_ratio = 2 r, rounded up to two decimals,  max_extra = 10 max(1, r), rounded up

        Args:
            source_lengths: Number of tokens of the source sentences of a training split, without ``<eos>``.
            target_lengths: Number of tokens of their translations, without ``<eos>``.
        """
        num_source, num_target = (
            int(lengths.sum(dtype=np.int64)) + len(lengths) for lengths in (source_lengths, target_lengths)
        )
        hundredths, tenths = (-(-times * num_target // num_source) for times in (200, 10))  # rounded up
        longest = int(source_lengths.max()) + 1
        return cls(max_ratio=hundredths / 100, max_extra=max(10, tenths), max_source=longest)

    def minimum(self, source_lengths: Tensor) -> Tensor:
        """Return the minimum length of each translation (B,), at most its maximum length."""
        return torch.minimum(_times(self.min_ratio, source_lengths), self.maximum(source_lengths))

    def maximum(self, source_lengths: Tensor) -> Tensor:
        """Return the maximum length of each translation (B,)."""
        return (_times(self.max_ratio, source_lengths) + int(self.max_extra)).clamp(min=1)


def _times(ratio: float, lengths: Tensor) -> Tensor:
    """Return floor(ratio * length) of each length (B,)."""
    return floor(PARTS * ratio + 0.5) * lengths.long() // PARTS


DEFAULT_LIMITS = LengthLimits()
