"""The event file of a run."""

import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import lightning.pytorch as pl
from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import TensorBoardLogger
from PIL.Image import Image
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer import event_file_writer
from torch.utils.tensorboard import SummaryWriter

from seq2seq.pictures.heatmap import png_bytes
from seq2seq.storage.writing import cut

MARK = ".run"
"""End of the names of the event files that a run writes and may rewind."""

STAMP = re.compile(r"events\.out\.tfevents\.([0-9]{10})\.")


@runtime_checkable
class TakesPictures(Protocol):
    """A logger that shows pictures."""

    def log_picture(self, tag: str, image: Image, step: int) -> None:
        """Show a picture."""


class EventLog(TensorBoardLogger):
    """Writes events into the run folder itself, so that TensorBoard shows the run by its name."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(run_dir, name="", version="")
        self.seconds = 0.0
        """Time that went into what TensorBoard shows: drawing, encoding, writing."""

    @property
    @rank_zero_experiment
    def experiment(self) -> SummaryWriter:
        """What writes; it begins a file when it is first used."""
        if self._experiment is None:
            self._experiment = event_writer(Path(self.log_dir), mark=MARK)
        return self._experiment

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

    def log_picture(self, tag: str, image: Image, step: int) -> None:
        """Show a picture."""
        size = {"height": image.height, "width": image.width, "colorspace": 3}
        encoded = Summary.Image(**size, encoded_image_string=png_bytes(image))
        summary = Summary(value=[Summary.Value(tag=tag, image=encoded)])
        self.experiment.file_writer.add_summary(summary, step)

    def save(self) -> None:
        """Flush, without the file of hyperparameters that Lightning adds: config.yaml has them."""
        with self.timed():
            self.experiment.flush()

    def sizes(self) -> dict[str, int]:
        """Bytes written so far, by event file: where a checkpoint finds the series."""
        self.save()
        files = event_files(Path(self.log_dir))
        return {path.name: path.stat().st_size for path in files if path.name.endswith(MARK)}


def event_writer(folder: Path, *, mark: str = "") -> SummaryWriter:
    """Begin an event file, which TensorBoard will read after all that are there.

    (It reads them by name, which is the time; a clock may have been set back.)

    Its name ends in the mark, after a part that nobody can guess.
    """
    stamps = (STAMP.match(path.name) for path in event_files(folder))
    after = max((int(stamp[1]) + 1 for stamp in stamps if stamp), default=0)
    now, event_file_writer.time = event_file_writer.time, _Clock(after)
    try:
        return SummaryWriter(str(folder), filename_suffix=f".{secrets.token_hex(8)}{mark}")
    finally:
        event_file_writer.time = now


class _Clock:
    """Never shows less than a time; in the place of the module `time` while a name is made."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def time(self) -> float:
        return max(time.time(), self._seconds)


def event_files(run_dir: Path) -> list[Path]:
    """The event files of a run."""
    return sorted(run_dir.glob("events.out.tfevents.*"))


def rewind_events(run_dir: Path, sizes: Mapping[str, int]) -> None:
    """Cut the event files of a run back to what they were at a checkpoint.

    What was written later will be written again, so that every series is that of a run without a
    break. Event files of others stay.

    `sizes` are those of `EventLog.sizes` at the checkpoint; empty for the beginning.
    """
    for path in event_files(run_dir):
        if path.name in sizes:
            cut(path, sizes[path.name])
        elif path.name.endswith(MARK):
            path.unlink()


def event_log(trainer: pl.Trainer) -> EventLog | None:
    """TensorBoard's among the loggers."""
    return next((each for each in trainer.loggers if isinstance(each, EventLog)), None)


class SessionStart(Callback):
    """Where training continues, a TensorBoard that looks on forgets what came after the checkpoint.

    (It has read what `rewind_events` cut off, and will read the same steps again.) A new run says
    that it starts, too, because the first start that TensorBoard reads erases nothing.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Tell TensorBoard that a session starts after this step."""
        log = event_log(trainer)
        if log is not None and trainer.is_global_zero:
            start = Event(session_log=SessionLog(status=SessionLog.START))
            log.experiment.file_writer.add_event(start, trainer.global_step + 1)


def drawing_seconds(loggers: Iterable[Any]) -> float:
    """Time that went into what TensorBoard shows, if it is among the loggers."""
    return sum(each.seconds for each in loggers if isinstance(each, EventLog))


def drawing(hook: Callable[..., None]) -> Callable[..., None]:
    """Count the time of a callback's hook in that of the trainer's `EventLog`, if it has one."""

    @wraps(hook)
    def timed(self: Any, trainer: Any, *arguments: Any) -> None:
        log = event_log(trainer)
        with nullcontext() if log is None else log.timed():
            hook(self, trainer, *arguments)

    return timed
