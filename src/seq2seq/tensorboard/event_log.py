"""The event file of a run."""

import os
from collections.abc import Mapping
from pathlib import Path

from lightning.pytorch.loggers import TensorBoardLogger


class EventLog(TensorBoardLogger):
    """Writes events into the run folder itself, so that TensorBoard shows the run by its name."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(run_dir, name="", version="")

    def save(self) -> None:
        """Flush, without the file of hyperparameters that Lightning adds: config.yaml has them."""
        self.experiment.flush()

    def sizes(self) -> dict[str, int]:
        """Bytes written so far, by event file: where a checkpoint finds the series."""
        self.experiment.flush()
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
