"""The event file of a run."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import TensorBoardLogger
from tensorboard.compat.proto.event_pb2 import Event, SessionLog


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

    def sizes(self) -> dict[str, int]:
        """Bytes written so far, by event file: where a checkpoint finds the series."""
        self.save()
        return {path.name: path.stat().st_size for path in event_files(Path(self.log_dir))}


def event_files(run_dir: Path) -> list[Path]:
    """The event files of a run."""
    return sorted(run_dir.glob("events.out.tfevents.*"))


def rewind_events(run_dir: Path, sizes: Mapping[str, int]) -> None:
    """Cut the event files back to what they were at a checkpoint.

    What was written later will be written again, so that every series is that of a run without a
    break.

    Args:
        run_dir: folder of the run.
        sizes: `EventLog.sizes` at the checkpoint; empty for the beginning.
    """
    for path in event_files(run_dir):
        if path.name not in sizes:
            path.unlink()
        elif path.stat().st_size > sizes[path.name]:
            os.truncate(path, sizes[path.name])


class SessionStart(Callback):
    """Where training continues, a TensorBoard that looks on forgets what came after the checkpoint.

    (It has read what `rewind_events` cut off, and will read the same steps again.) A new run says
    that it starts, too, because the first start that TensorBoard reads erases nothing.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Tell TensorBoard that a session starts after this step."""
        if isinstance(trainer.logger, EventLog) and trainer.is_global_zero:
            start = Event(session_log=SessionLog(status=SessionLog.START))
            trainer.logger.experiment.file_writer.add_event(start, trainer.global_step + 1)


def drawing(hook: Callable[..., None]) -> Callable[..., None]:
    """Count the time of a callback's hook in that of the trainer's `EventLog`."""

    @wraps(hook)
    def timed(self: Any, trainer: Any, *arguments: Any) -> None:
        if not isinstance(trainer.logger, EventLog):
            raise TypeError("a picture is drawn where an EventLog is the trainer's logger")
        with trainer.logger.timed():
            hook(self, trainer, *arguments)

    return timed
