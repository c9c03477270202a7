"""The event file of a run."""

from pathlib import Path

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import TensorBoardLogger
from tensorboard.compat.proto.event_pb2 import Event, SessionLog


class EventLog(TensorBoardLogger):
    """Writes events into the run folder itself, so that TensorBoard shows the run by its name."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(run_dir, name="", version="")

    def save(self) -> None:
        """Flush, without the file of hyperparameters that Lightning adds: config.yaml has them."""
        self.experiment.flush()


class SessionStart(Callback):
    """Where training continues, TensorBoard forgets what was written after the checkpoint.

    (A run that crashed had gone on after it, and will log the same steps again.) A new run says
    that it starts, too, because the first start that TensorBoard reads erases nothing.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Tell TensorBoard that a session starts after this step."""
        if isinstance(trainer.logger, EventLog):
            start = Event(session_log=SessionLog(status=SessionLog.START))
            trainer.logger.experiment.file_writer.add_event(start, trainer.global_step + 1)
