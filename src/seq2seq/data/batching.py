"""Batches of sentences of similar length, their order, and a loader that can resume within an epoch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset

from seq2seq.common.numbers import Positive, require_bounds
from seq2seq.data.batch import Batch, EncodedSplit

Lengths = NDArray[np.integer]

Order = Sequence[NDArray[np.integer]]
"""Batches in the order of use, each an array of indices of its sentences in the split."""


@dataclass(frozen=True, slots=True)
class BatchSize:
    """Maximum size of a batch.

    Attributes:
        sentences: Maximum number of sentences; None for no limit.
        tokens: Maximum padded size, sentences x (longest source + longest target), special tokens included;
            None for no limit. A single pair above the limit is a batch by itself.

    Raises:
        InputError: See `require_bounds`.
    """

    sentences: Positive | None
    tokens: Positive | None

    def __post_init__(self) -> None:
        require_bounds(self)


def shuffled_order(
    source_lengths: Lengths,
    target_lengths: Lengths,
    size: BatchSize,
    *,
    seed: int,
    epoch: int,
    num_shares: int = 1,
) -> Order:
    """Return batches of sentences of similar length, in random order.

    The same arguments give the same order on every machine; exact resuming depends on this. Sentences of equal
    lengths are shuffled in each epoch. With `num_shares` a batch is that many times as large, see `share`. Every
    sentence is in one batch, and no share is empty. If there are too few sentences for that within the limits, up to
    `num_shares` - 1 of the shortest are in two batches.
    """
    generator = np.random.default_rng((seed, epoch))
    sentences = np.arange(len(source_lengths), dtype=np.int32)
    generator.shuffle(sentences)
    # stable, least significant key first: sentences of equal lengths stay shuffled
    sentences = sentences[np.argsort(source_lengths[sentences], kind="stable")]
    sentences = sentences[np.argsort(target_lengths[sentences], kind="stable")]
    starts = _starts(sentences, source_lengths, target_lengths, size, num_shares)
    # a last batch without a sentence for each share takes some from the batch before, and so on
    stop = len(sentences)
    for place in reversed(range(len(starts))):
        starts[place] = min(starts[place], stop - num_shares)
        stop = starts[place]
    num_missing = max(0, -stop)
    repeated = np.concatenate([np.resize(sentences, num_missing), sentences])
    batches = _cut(repeated, [start + num_missing for start in starts])
    return [batches[place] for place in generator.permutation(len(batches))]


def sorted_order(
    source_lengths: Lengths, target_lengths: Lengths, size: BatchSize, num_shares: int = 1
) -> Order:
    """Return batches of sentences of similar length, the shortest first: for validation and translation.

    Every sentence is in one batch. With `num_shares` a batch is that many times as large, see `share`.
    """
    sentences = np.lexsort((source_lengths, target_lengths)).astype(np.int32)
    return _cut(sentences, _starts(sentences, source_lengths, target_lengths, size, num_shares))


def share(order: Order, rank: int, num_shares: int) -> Order:
    """Return one process's share of every batch; all shares have sentences of similar lengths.

    Shares are disjoint and their union is the batch. Empty ones, which `sorted_order` may have, are left out.
    """
    shares = (batch[rank::num_shares] for batch in order)
    return [sentences for sentences in shares if len(sentences)]


def _starts(
    sentences: NDArray[np.int32],
    source_lengths: Lengths,
    target_lengths: Lengths,
    size: BatchSize,
    num_shares: int,
) -> list[int]:
    """Return where batches of sorted sentences start: each takes the next ones while its shares stay within the limit."""
    end, starts = len(sentences), [0]
    if size.tokens is None:
        return list(range(0, end, (size.sentences or max(end, 1)) * num_shares))
    # one special token a side: <eos> of the source, <bos> or <eos> of the target
    widths = np.stack(
        [lengths[sentences].astype(np.int32) + 1 for lengths in (source_lengths, target_lengths)]
    )
    while starts[-1] < end:
        start = starts[-1]
        most = min(max(1, size.tokens // int(widths[:, start].sum())), size.sentences or end) * num_shares
        window = widths[:, start : start + most + 1]
        rows = -(-np.arange(1, window.shape[1] + 1) // num_shares)
        padded = np.maximum.accumulate(window, axis=1).sum(axis=0) * rows
        starts.append(start + max(num_shares, min(int(np.searchsorted(padded, size.tokens, "right")), most)))
    return starts[:-1]


def _cut(sentences: NDArray[np.int32], starts: Sequence[int]) -> list[NDArray[np.int32]]:
    return np.split(sentences, starts[1:]) if len(sentences) else []


@dataclass(frozen=True, slots=True)
class _Assembled(Dataset[Batch]):
    """The batches of an order."""

    split: EncodedSplit
    order: Order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, place: int, /) -> Batch:
        return Batch.from_split(self.split, self.order[place].tolist())


class BatchLoader:
    """A loader of the batches of the current epoch.

    Lightning saves and restores `state_dict` in its checkpoints. The order is computed at the first batch,
    not in `__iter__`, because Lightning calls `__iter__` before it restores the epoch.

    Args:
        split: Returns the sentences of an epoch.
        order: Returns the order of the batches in an epoch.
        epoch: Returns the current epoch.
        num_workers: Number of processes that assemble batches ahead; 0: the training does.
    """

    def __init__(
        self,
        split: Callable[[int], EncodedSplit],
        order: Callable[[int], Order],
        epoch: Callable[[], int],
        num_workers: int = 0,
    ) -> None:
        self._split, self.order, self._epoch, self._num_workers = split, order, epoch, num_workers
        self._num_yielded = 0
        self._resume: tuple[int, int] | None = None  # epoch, and batches of it that were yielded

    def __len__(self) -> int:
        return len(self.order(self._epoch()))

    def __iter__(self) -> Iterator[Batch]:
        epoch = self._epoch()
        order, split = self.order(epoch), self._split(epoch)
        saved, num_yielded = self._resume or (-1, 0)
        resumes = saved == epoch and num_yielded < len(order)
        self._num_yielded, self._resume = num_yielded if resumes else 0, None
        assembled = DataLoader(
            _Assembled(split, order[self._num_yielded :]),
            batch_size=None,
            num_workers=self._num_workers,
            generator=torch.Generator(),  # else it draws a number of the training's
        )
        for batch in assembled:
            self._num_yielded += 1
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """Return the current epoch and the number of its batches that were yielded."""
        return {"epoch": self._epoch(), "num_yielded": self._num_yielded}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Start the next iteration after the yielded batches, if the epoch is the same."""
        self._resume = state["epoch"], state["num_yielded"]
