"""Batches of sentences of like length, their order, and the loader that knows its place in it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.data.batch import Batch, EncodedSplit

Lengths = NDArray[np.integer]

CHUNK = 1 << 18
"""Sentences whose lengths are gathered at a time."""


@dataclass(frozen=True, slots=True)
class Order:
    """Batches in the order they are used, each the sentence indices it holds.

    Four bytes a sentence and sixteen a batch, because a large corpus has millions of them.

    Attributes:
        sentences: sentence indices, batch after batch.
        starts: batch i is ``sentences[starts[i]:starts[i + 1]]``.
        sequence: the batches in the order they are used.
        rank: of the sentences of a batch, the one with which this share begins.
        num_shares: every so many-th sentence of a batch is in this share.
    """

    sentences: NDArray[np.int32]
    starts: NDArray[np.int64]
    sequence: NDArray[np.int64]
    rank: int = 0
    num_shares: int = 1

    def __len__(self) -> int:
        return len(self.sequence)

    def __getitem__(self, place: int) -> NDArray[np.int32]:
        batch = self.sequence[place]
        first, end = self.starts[batch] + self.rank, self.starts[batch + 1]
        return self.sentences[first : end : self.num_shares]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[place] for place in range(len(self)))

    def share(self, rank: int, num_shares: int) -> "Order":
        """One process's share of every batch: sentences of the same lengths as those of the others.

        The shares of a batch are disjoint, together are the batch, and none is empty, if the
        batches were cut for so many shares.
        """
        return replace(self, rank=rank, num_shares=num_shares)


@dataclass(frozen=True, slots=True)
class BatchSize:
    """Bound of a batch.

    Attributes:
        sentences: greatest number of sentences; None for no bound.
        tokens: greatest padded size, sentences x (longest source + longest target), special
            tokens included; None for no bound. A single pair over it is a batch of its own.
    """

    sentences: int | None
    tokens: int | None


def shuffled_order(
    source_lengths: Lengths,
    target_lengths: Lengths,
    size: BatchSize,
    *,
    seed: int,
    epoch: int,
    num_shares: int = 1,
) -> Order:
    """Batches of sentences of like length, in random order.

    A function of its arguments alone: the same seed and epoch give the same order on every
    machine, which exact resuming stands on. Sentences of equal lengths change places each epoch.
    With `num_shares` a batch is so many times as large, to be divided by `Order.share`.
    """
    generator = np.random.default_rng((seed, epoch))
    sentences = np.arange(len(source_lengths), dtype=np.int32)
    generator.shuffle(sentences)
    # stable, least significant key first: sentences of equal lengths stay shuffled
    sentences = sentences[np.argsort(source_lengths[sentences], kind="stable")]
    sentences = sentences[np.argsort(target_lengths[sentences], kind="stable")]
    starts = _starts(sentences, source_lengths, target_lengths, size, num_shares)
    return Order(sentences, starts, generator.permutation(len(starts) - 1))


def sorted_order(
    source_lengths: Lengths, target_lengths: Lengths, size: BatchSize, num_shares: int = 1
) -> Order:
    """Batches of sentences of like length, the shortest first: for validation and translation."""
    sentences = np.lexsort((source_lengths, target_lengths)).astype(np.int32)
    starts = _starts(sentences, source_lengths, target_lengths, size, num_shares)
    return Order(sentences, starts, np.arange(len(starts) - 1))


class ShuffledOrders:
    """The shuffled order of any epoch; the last one that was computed is kept.

    `size` bounds a process's share of a batch; `rank` and `num_shares` are those of `Order.share`.
    """

    def __init__(
        self,
        source_lengths: Lengths,
        target_lengths: Lengths,
        size: BatchSize,
        *,
        seed: int,
        rank: int = 0,
        num_shares: int = 1,
    ) -> None:
        self._lengths = (source_lengths, target_lengths)
        self._size = size
        self._seed = seed
        self._share = (rank, num_shares)
        self._kept: tuple[int, Order] | None = None

    def __call__(self, epoch: int) -> Order:
        """The order of an epoch."""
        if self._kept is None or self._kept[0] != epoch:
            self._kept = None  # not two at a time
            rank, num_shares = self._share
            order = shuffled_order(
                *self._lengths, self._size, seed=self._seed, epoch=epoch, num_shares=num_shares
            )
            self._kept = (epoch, order.share(rank, num_shares))
        return self._kept[1]


def _starts(
    sentences: NDArray[np.int32],
    source_lengths: Lengths,
    target_lengths: Lengths,
    size: BatchSize,
    num_shares: int,
) -> NDArray[np.int64]:
    """Cut sorted sentences into batches: where each starts, and the end.

    A batch takes the next sentences as long as each of its shares stays within the bound. No
    share is empty: a last batch of fewer sentences than shares joins the one before.
    """
    end = len(sentences)
    if size.tokens is None:
        cut = list(range(0, end, (size.sentences or max(end, 1)) * num_shares))
    else:
        cut = _cut_by_tokens(_Widths(sentences, source_lengths, target_lengths), end, size, num_shares)
    if len(cut) > 1 and end - cut[-1] < num_shares:
        del cut[-1]
    return np.array([*cut, end] if end else [0], dtype=np.int64)


def _cut_by_tokens(widths: "_Widths", end: int, size: BatchSize, num_shares: int) -> list[int]:
    cut = [0]
    tokens = size.tokens or 0
    while cut[-1] < end:
        start = cut[-1]
        most = max(1, tokens // int(widths(start, start + 1).sum())) * num_shares
        if size.sentences is not None:
            most = min(most, size.sentences * num_shares)
        window = widths(start, start + most + 1)
        rows = -(-np.arange(1, window.shape[1] + 1) // num_shares)
        padded = np.maximum.accumulate(window, axis=1).sum(axis=0) * rows
        count = min(int(np.searchsorted(padded, tokens, side="right")), most)
        cut.append(start + max(num_shares, count))
    return cut[:-1]


class _Widths:
    """Places of source and target (2, n) of a stretch of sentences; gathered many at a time."""

    def __init__(
        self, sentences: NDArray[np.int32], source_lengths: Lengths, target_lengths: Lengths
    ) -> None:
        self._sentences = sentences
        self._lengths = (source_lengths, target_lengths)
        self._start = 0
        self._kept = np.zeros((2, 0), dtype=np.int64)

    def __call__(self, start: int, stop: int) -> NDArray[np.int64]:
        stop = min(stop, len(self._sentences))
        if stop > self._start + self._kept.shape[1]:
            chunk = self._sentences[start : max(stop, start + CHUNK)]
            # one special token a side: <eos> of the source, <bos> or <eos> of the target
            sides = [lengths[chunk].astype(np.int64) + 1 for lengths in self._lengths]
            self._start, self._kept = start, np.stack(sides)
        return self._kept[:, start - self._start : stop - self._start]


def padding_share(lengths: Lengths, order: Iterable[NDArray[np.integer]]) -> float:
    """Share of the padded size that is padding."""
    padded = sum(len(batch) * int(lengths[batch].max()) for batch in order)
    return 1 - int(lengths.sum()) / padded if padded else 0.0


class BatchLoader:
    """The batches of one epoch after another.

    Lightning saves and restores `state_dict` in its checkpoints. The order is computed at the first batch,
    not in `__iter__`, because Lightning calls that before it restores the epoch.

    Args:
        split: Returns the sentences of an epoch.
        order: Returns the order of the batches in an epoch.
        epoch: Returns the current epoch.
    """

    def __init__(
        self,
        split: Callable[[int], EncodedSplit],
        order: Callable[[int], Order],
        epoch: Callable[[], int],
    ) -> None:
        self._split, self.order, self._epoch = split, order, epoch
        self._num_yielded = 0
        self._resume: tuple[int, int] | None = None  # epoch, and batches of it that were yielded

    def __len__(self) -> int:
        return len(self.order(self._epoch()))

    def __iter__(self) -> Iterator[Batch]:
        epoch = self._epoch()
        order, split = self.order(epoch), self._split(epoch)
        resumes = self._resume is not None and self._resume[0] == epoch and self._resume[1] < len(order)
        self._num_yielded, self._resume = self._resume[1] if resumes else 0, None
        for place in range(self._num_yielded, len(order)):
            self._num_yielded += 1
            yield Batch.from_split(split, order[place].tolist())

    def state_dict(self) -> dict[str, Any]:
        """Return the current epoch, and how many of its batches have been yielded."""
        return {"epoch": self._epoch(), "num_yielded": self._num_yielded}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Begin the next iteration after the batches yielded, if it is of the same epoch."""
        self._resume = state["epoch"], state["num_yielded"]
