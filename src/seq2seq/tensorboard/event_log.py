"""The event file of a run."""

from pathlib import Path

from lightning.pytorch.loggers import TensorBoardLogger


class EventLog(TensorBoardLogger):
    """Writes events into the run folder itself, so that TensorBoard shows the run by its name."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(run_dir, name="", version="")

    def save(self) -> None:
        """Flush, without the file of hyperparameters that Lightning adds: config.yaml has them."""
        self.experiment.flush()
