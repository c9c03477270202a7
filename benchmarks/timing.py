"""Times of several variants, taken in turn: whatever else the machine does meets them all."""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from seq2seq.text.batch import Batch

Times = NDArray[np.float64]
"""Seconds (rounds, batches)."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Times) -> "Spread":
        """The spread of some values."""
        low, median, high = np.percentile(values, [25, 50, 75])
        return cls(float(median), float(low), float(high))

    def as_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def seconds(action: Callable[[], object], device: torch.device) -> float:
    """How long an action takes.

    A single thread on a CPU is timed by its own clock: what other programs do does not count.
    """
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    _synchronise(device)
    started = clock()
    action()
    _synchronise(device)
    return clock() - started


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def alternate(
    steps: Mapping[str, Callable[[Batch], object]],
    batches: Sequence[Batch],
    *,
    rounds: int,
    device: torch.device,
) -> dict[str, Times]:
    """Seconds of every variant, on the same batches, a block of them in turn.

    One batch before the first block warms up and is not counted.
    """
    for step in steps.values():
        step(batches[0])
    times: dict[str, Times] = {name: np.empty((rounds, len(batches))) for name in steps}
    for number in range(rounds):
        for name, step in steps.items():
            gc.collect()
            for place, batch in enumerate(batches):
                times[name][number, place] = seconds(partial(step, batch), device)
    return times
