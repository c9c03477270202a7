"""Which sentences share a batch, and in which order the batches come."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Order = list[NDArray[np.int64]]
"""Batches in the order they are used, each the sentence indices it holds."""


@dataclass(frozen=True, slots=True)
class BatchSize:
    """Bound of a batch.

    Attributes:
        sentences: greatest number of sentences; None for no bound.
        tokens: greatest padded size, sentences x (source + target length), special tokens
            included; None for no bound. A single pair over the bound is a batch of its own.
    """

    sentences: int | None
    tokens: int | None


def shuffled_order(
    source_lengths: NDArray[np.int64],
    target_lengths: NDArray[np.int64],
    size: BatchSize,
    *,
    seed: int,
    epoch: int,
    num_shares: int = 1,
) -> Order:
    """Batches of sentences of like length, in random order.

    A function of its arguments alone: the same seed and epoch give the same order on every
    machine, which exact resuming stands on. Sentences of equal lengths change places each epoch.
    With `num_shares` a batch is so many times as large, to be divided by `share_of`.
    """
    generator = np.random.default_rng((seed, epoch))
    shuffle = generator.permutation(len(source_lengths))
    by_length = np.lexsort((source_lengths[shuffle], target_lengths[shuffle]))
    batches = _cut(shuffle[by_length], source_lengths, target_lengths, size, num_shares)
    return [batches[index] for index in generator.permutation(len(batches))]


def sorted_order(
    source_lengths: NDArray[np.int64],
    target_lengths: NDArray[np.int64],
    size: BatchSize,
    num_shares: int = 1,
) -> Order:
    """Batches of sentences of like length, the shortest first: for validation and translation."""
    by_length = np.lexsort((source_lengths, target_lengths))
    return _cut(by_length, source_lengths, target_lengths, size, num_shares)


def share_of(order: Order, rank: int, num_shares: int) -> Order:
    """One process's share of every batch: sentences of the same lengths as those of the others.

    The shares of a batch are disjoint, together are the batch, and none is empty.
    """
    return [batch[rank::num_shares] for batch in order]


def _cut(
    indices: NDArray[np.int64],
    source_lengths: NDArray[np.int64],
    target_lengths: NDArray[np.int64],
    size: BatchSize,
    num_shares: int,
) -> Order:
    """Cut sorted sentences into consecutive batches, every share of which is within the bound.

    No batch has fewer sentences than shares: one too few at the end joins the batch before.
    """
    starts = [0]
    widest = 0
    # one special token a side: <eos> of the source, <bos> or <eos> of the target
    widths = (source_lengths[indices] + target_lengths[indices] + 2).tolist()
    for position, width in enumerate(widths):
        count = position - starts[-1] + 1
        widest = max(widest, width)
        if count > num_shares and _exceeds(-(-count // num_shares), widest, size):
            starts.append(position)
            widest = width
    if len(indices) - starts[-1] < num_shares:
        starts = starts[:-1] or starts
    return np.split(indices, starts[1:]) if len(indices) else []


def _exceeds(count: int, width: int, size: BatchSize) -> bool:
    too_many = size.sentences is not None and count > size.sentences
    return too_many or (size.tokens is not None and count * width > size.tokens)


def padding_share(lengths: NDArray[np.int64], order: Sequence[NDArray[np.int64]]) -> float:
    """Share of the padded size that is padding."""
    padded = sum(len(batch) * int(lengths[batch].max()) for batch in order)
    return 1 - int(lengths.sum()) / padded if padded else 0.0
