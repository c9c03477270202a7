"""MLflow and W&B, each with one run for a folder of runs, however often its training is continued."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import MLFlowLogger, WandbLogger
from lightning.pytorch.utilities import rank_zero_only

from seq2seq.common.progress import warn
from seq2seq.common.written import claim


def known_id(file: Path, overwrite: bool) -> str | None:
    """Return the identifier of the tracker's run that a file holds; None: it is a new one."""
    return file.read_text(encoding="utf-8").strip() if file.is_file() and not overwrite else None


class MLflowOfRun(MLFlowLogger):
    """Lightning's logger of MLflow; a run that continues goes on with its run of MLflow.

    Args:
        folder: Of the run; the file ``mlflow_run_id`` in it has the identifier.
        overwrite: Whether to begin another run of MLflow.
        **options: Arguments of `lightning.pytorch.loggers.MLFlowLogger`.
    """

    def __init__(self, *, folder: str, overwrite: bool = False, **options: Any) -> None:
        self._file, self._has_begun = Path(folder, "mlflow_run_id"), False
        super().__init__(run_id=known_id(self._file, overwrite), **options)

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """The client of MLflow; at the first access its run is found, or created and noted in the folder."""
        from mlflow.exceptions import MlflowException

        try:
            client = super().experiment
        except MlflowException:
            warn(f"{self._file}: {self._tracking_uri} has no run {self._run_id}, so that another one begins")
            self._run_id = None
            client = super().experiment
        if not self._has_begun:
            self._has_begun = True
            claim(self._file)
            self._file.write_text(f"{self._run_id}\n", encoding="utf-8")
            client.set_terminated(self._run_id, "RUNNING")
        return client

    @rank_zero_only
    def log_hyperparams(self, params: Any) -> None:
        """Log parameters; of those that the run has, which MLflow never changes, a tag ``now.KEY`` says the new value."""
        known = self.experiment.get_run(self.run_id).data.params
        for key, value in params.items():
            if key in known and known[key] != str(value)[:250]:
                self.experiment.set_tag(self.run_id, f"now.{key}", str(value))
        super().log_hyperparams({key: value for key, value in params.items() if key not in known})


class WandbOfRun(WandbLogger):
    """Lightning's logger of W&B; a run that continues goes on with its run of W&B.

    Args:
        folder: Of the run; the file ``wandb_run_id`` in it has the identifier.
        overwrite: Whether to begin another run of W&B.
        **options: Arguments of `lightning.pytorch.loggers.WandbLogger`.
    """

    def __init__(self, *, folder: str, overwrite: bool = False, **options: Any) -> None:
        self._file = Path(folder, "wandb_run_id")
        known: dict[str, Any] = {"resume": "allow", "id": known_id(self._file, overwrite)}
        super().__init__(**known | options)

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """The run of W&B; its identifier is noted in the folder."""
        run = super().experiment
        if known_id(self._file, False) != run.id:
            claim(self._file)
            self._file.write_text(f"{run.id}\n", encoding="utf-8")
        return run

    @rank_zero_only
    def finish(self) -> None:
        """End the run of W&B, which the next run in this process would else go on with."""
        self.experiment.finish()

    @rank_zero_only
    def log_hyperparams(self, params: Mapping[str, Any]) -> None:  # type: ignore[override]
        """Log parameters; those of a continuation take the place of the earlier ones."""
        self.experiment.config.update(dict(params), allow_val_change=True)
