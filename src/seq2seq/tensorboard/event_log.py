"""The event file of a run."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import TensorBoardLogger


class EventLog(TensorBoardLogger):
    """Writes events into the run folder itself, so that TensorBoard shows the run by its name."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(run_dir, name="", version="")
        self.seconds = 0.0
        """Time that went into what TensorBoard shows: drawing, encoding, writing."""

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the time of a block in `seconds`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Write scalars."""
        with self.timed():
            super().log_metrics(metrics, step)

    def save(self) -> None:
        """Flush, without the file of hyperparameters that Lightning adds: config.yaml has them."""
        with self.timed():
            self.experiment.flush()


def drawing(hook: Callable[..., None]) -> Callable[..., None]:
    """Count the time of a callback's hook in that of the trainer's `EventLog`."""

    @wraps(hook)
    def timed(self: Any, trainer: Any, *arguments: Any) -> None:
        if not isinstance(trainer.logger, EventLog):
            raise TypeError("a picture is drawn where an EventLog is the trainer's logger")
        with trainer.logger.timed():
            hook(self, trainer, *arguments)

    return timed
