"""Iterates over the batches of a split and knows its place, so that training can resume there."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from seq2seq.text.batch import Batch
from seq2seq.text.bucketing import Order
from seq2seq.text.resampling import Resampling
from seq2seq.text.store import EncodedSplit


class LoaderCost:
    """What the batches given out so far have cost.

    Attributes:
        seconds: time in which they were made and nothing else was done.
        num_places: positions of source and target, padding included.
        num_tokens: those that hold tokens.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.num_places = 0
        self.num_tokens = 0

    def add(self, batch: Batch, seconds: float) -> None:
        """Count a batch."""
        self.seconds += seconds
        self.num_places += batch.source.ids.numel() + batch.target_input.numel()
        self.num_tokens += int(batch.source.lengths.sum() + batch.target_lengths.sum())


class BatchLoader:
    """The batches of one epoch after another.

    Lightning saves and restores `state_dict` in its checkpoints. The order is asked for at the
    first batch rather than in `__iter__`, because Lightning calls that before it restores the
    epoch.

    Args:
        split: the sentences.
        order: the order of the batches in an epoch.
        epoch: tells the current epoch.
        resampling: draws the subwords of every epoch anew; None to keep them. The order remains
            that of the usual subwords.

    Attributes:
        cost: of the batches given out by this object.
    """

    def __init__(
        self,
        split: EncodedSplit,
        order: Callable[[int], Order],
        epoch: Callable[[], int],
        resampling: Resampling | None = None,
    ) -> None:
        self._split = split
        self._order = order
        self._epoch = epoch
        self._resampling = resampling
        self._num_yielded = 0
        self._resume_at = 0
        self.cost = LoaderCost()

    def __len__(self) -> int:
        return len(self._order(self._epoch()))

    def __iter__(self) -> Iterator[Batch]:
        started = time.perf_counter()
        order, split = self._order(self._epoch()), self._split
        if self._resampling is not None:
            split = self._resampling.split(split, self._epoch())
        start, self._resume_at = self._resume_at, 0
        self._num_yielded = start
        for place in range(start, len(order)):
            self._num_yielded += 1
            batch = Batch.from_split(split, order[place].tolist())
            self.cost.add(batch, time.perf_counter() - started)
            yield batch
            started = time.perf_counter()

    def state_dict(self) -> dict[str, Any]:
        """How many batches of the current epoch have been given out."""
        return {"num_yielded": self._num_yielded}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Begin the next iteration after the batches given out; after a whole epoch, anew."""
        num_yielded = state["num_yielded"]
        self._resume_at = num_yielded if num_yielded < len(self) else 0
