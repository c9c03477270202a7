"""The real tokens of a batch, step by step: so that no work goes into padding."""

from functools import cached_property
from itertools import accumulate
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from seq2seq.model.precision import Precision

EVEN_ROWS = 16
"""Rows that a processor's tile has: as many are multiplied as fast as fewer."""


class Steps:
    """Packs (B, T, …) into (N, …): the N real tokens, all of the first step before the second.

    Within a step the longest sentences come first, so that the sentences of a step are the first
    ones of the step before it, and states need not be moved.

    Args:
        lengths: number of real tokens of each sentence (B), at least 1.
        size: T.

    Attributes:
        order: the sentences, the longest first (B).
        counts: sentences of each step.
        sentences: of each row the place of its sentence in `order` (N).
    """

    def __init__(self, lengths: Int[Tensor, " B"], size: int) -> None:
        self._shape = (len(lengths), size)
        ordered, self.order = lengths.sort(descending=True, stable=True)
        is_token = torch.arange(size, device=lengths.device).unsqueeze(1) < ordered
        self.counts = [count for count in is_token.sum(dim=1).tolist() if count]
        self._starts = [0, *accumulate(self.counts)]
        step, self.sentences = is_token.nonzero(as_tuple=True)
        self._step = step
        self._lengths = ordered
        self._places = self.order[self.sentences] * size + step

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def num_tokens(self) -> int:
        """N."""
        return self._starts[-1]

    def rows(self, step: int) -> slice:
        """The rows of a step."""
        return slice(self._starts[step], self._starts[step + 1])

    def rows_at_least(self, step: int, precision: Precision) -> slice:
        """The rows of a step, and of those behind as many as make their number an even one.

        oneDNN, which multiplies in short formats, keeps a program for each number of rows.
        """
        start, end = self._starts[step], self._starts[step + 1]
        if precision.is_mixed:
            end = min(end + -(end - start) % EVEN_ROWS, self.num_tokens)
        return slice(start, end)

    def rows_before(self, step: int) -> slice:
        """The rows of the step before it, of the sentences that this step still has."""
        start = self._starts[step - 1]
        return slice(start, start + self.counts[step])

    def pack(self, padded: Tensor) -> Tensor:
        """(B, T, …) to (N, …)."""
        return padded.flatten(0, 1).index_select(0, self._places)

    def unpack(self, packed: Tensor) -> Tensor:
        """(N, …) to (B, T, …), zero on padding."""
        return self._scattered(packed, self._places)

    def unpack_ordered(self, packed: Tensor) -> Tensor:
        """(N, …) to (B, T, …) with the longest sentences first, zero on padding."""
        return self._scattered(packed, self.sentences * self._shape[1] + self._step)

    def _scattered(self, packed: Tensor, places: Tensor) -> Tensor:
        batch_size, size = self._shape
        padded = packed.new_zeros(batch_size * size, *packed.shape[1:])
        return padded.index_copy(0, places, packed).unflatten(0, (batch_size, size))

    def last(self, packed: Tensor) -> Tensor:
        """Of each sentence the row of its last token (B, …)."""
        return packed[self._last]

    def reverse(self, packed: Tensor) -> Tensor:
        """Each sentence's tokens in reverse order."""
        return _Mirror.apply(packed, self._mirrored)

    @cached_property
    def _first(self) -> Int[Tensor, " T"]:
        """The first row of each step."""
        return torch.tensor(self._starts[:-1], device=self.order.device)

    @cached_property
    def _last(self) -> Int[Tensor, " B"]:
        """The row of each sentence's last token."""
        ranks = self.order.argsort()
        return self._first[self._lengths - 1][ranks] + ranks

    @cached_property
    def _mirrored(self) -> Int[Tensor, " N"]:
        """For each row, that of the token as far from the end as it is from the beginning."""
        return self._first[self._lengths[self.sentences] - 1 - self._step] + self.sentences


class _Mirror(torch.autograd.Function):
    """Rows in another order, which is its own inverse: so the gradient is a selection, too."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, order: Tensor) -> Tensor:
        ctx.save_for_backward(order)
        return rows.index_select(0, order)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (order,) = ctx.saved_tensors
        return gradient.index_select(0, order), None
