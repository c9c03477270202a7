"""Where the scalars and pictures of a run go: TensorBoard, and Lightning's other loggers."""

import csv
import io
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import CSVLogger, Logger, MLFlowLogger, WandbLogger
from lightning.pytorch.loggers.csv_logs import ExperimentWriter
from PIL.Image import Image

from seq2seq.config import Config, LoggerName
from seq2seq.errors import InputError
from seq2seq.plain_text import first_line
from seq2seq.storage.typed_json import open_regular
from seq2seq.storage.writing import inside, open_own, write_file
from seq2seq.tensorboard.event_log import EventLog
from seq2seq.training.process_group import ProcessGroup

CSV = "metrics.csv"


class CsvLog(CSVLogger):
    """Scalars in ``metrics.csv`` of the run folder: a row for each time that something is logged.

    Where training continues, the file does: see `rewind_rows`. (Lightning's own removes it.)
    """

    def __init__(self, run_dir: Path) -> None:
        super().__init__(run_dir, name="", version="")

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """What writes."""
        if self._experiment is None:
            self._experiment = _Rows(self.log_dir)
        return self._experiment

    def log_hyperparams(self, params: Any = None) -> None:
        """Nothing: config.yaml has them."""

    def num_rows(self) -> int:
        """Rows that the file has, now that it has all."""
        self.save()
        return len(_rows(Path(self.log_dir, CSV)))


class _Rows(ExperimentWriter):
    """Goes on with the rows that are there; the file is a whole one at every moment."""

    def _check_log_dir_exists(self) -> None:
        rows = _rows(Path(self.metrics_file_path))
        self.metrics_keys = list(rows[0]) if rows else []

    def _rewrite_with_new_header(self, fieldnames: list[str]) -> None:
        path = Path(self.metrics_file_path)
        _write(path, fieldnames, _rows(path))


def rewind_rows(run_dir: Path, count: int) -> None:
    """Cut ``metrics.csv`` back to the rows that it had at a checkpoint.

    Raises:
        InputError: the file is a link that leads out of the folder.
    """
    path = inside(run_dir, CSV)
    rows = _rows(path)
    if len(rows) > count:
        _write(path, list(rows[0]), rows[:count])


def _rows(path: Path) -> list[dict[str, str]]:
    """What the file holds, if there is one.

    Raises:
        InputError: it is no table.
    """
    try:
        with open_regular(path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
            rows = list(csv.DictReader(text))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"{path} is no table of scalars ({error}): move it away") from error
    if any(None in row for row in rows):  # one that was cut short has fewer columns
        raise InputError(f"{path} is no table of scalars (a row has too many): move it away")
    return rows


def _write(path: Path, header: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, header)
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, text.getvalue())


class MlflowLog(MLFlowLogger):
    """A run of MLflow, in a database beside the run folder, or where its own variable says."""

    def __init__(self, run_dir: Path) -> None:
        logging.getLogger("alembic").setLevel(logging.WARNING)
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        folder = run_dir.resolve().parent
        given = os.environ.get("MLFLOW_TRACKING_URI")
        database, pictures = folder / "mlflow.db", inside(folder, "mlflow").as_uri()
        if not given and os.path.lexists(database):
            os.close(open_own(database, os.O_RDONLY))
        super().__init__(
            experiment_name=folder.name,
            run_name=run_dir.name,
            tracking_uri=given or f"sqlite:///{database}",
            artifact_location=None if given else pictures,
        )
        if not given:
            self._require_pictures_in(pictures, database)

    def _require_pictures_in(self, place: str, database: Path) -> None:
        """A database that is there says where pictures go."""
        try:
            known = self._mlflow_client.get_experiment_by_name(self._experiment_name)
        except Exception as error:
            said = first_line(error)
            raise InputError(
                f"{database} is no database of MLflow ({said}): move it away"
            ) from error
        if known is not None and known.artifact_location != place:
            raise InputError(
                f"{database} has pictures written to {known.artifact_location}, not beside it: "
                "move it away"
            )

    def log_picture(self, tag: str, image: Image, step: int) -> None:
        """Show a picture."""
        self.experiment.log_image(self.run_id, image, key=tag, step=step)


class WandbLog(WandbLogger):
    """A run of Weights and Biases: in files of the run folder, sent by ``wandb sync`` alone.

    With ``WANDB_MODE=online`` it is sent.
    """

    def __init__(self, run_dir: Path) -> None:
        import wandb  # noqa: PLC0415 - not everyone has it

        super().__init__(
            name=run_dir.name,
            project=run_dir.resolve().parent.name,
            save_dir=inside(run_dir, "wandb").parent,
            offline=os.environ.get("WANDB_MODE") != "online",
            settings=wandb.Settings(console="off", silent=True),
        )

    def log_picture(self, tag: str, image: Image, step: int) -> None:
        """Show a picture."""
        self.log_image(tag, [image], step)


OTHERS: dict[LoggerName, Callable[[Path], Logger]] = {
    LoggerName.csv: CsvLog,
    LoggerName.mlflow: MlflowLog,
    LoggerName.wandb: WandbLog,
}


@contextmanager
def open_loggers(config: Config, run_dir: Path, job: ProcessGroup) -> Iterator[list[Logger]]:
    """The loggers of one of the processes of a job; only the first writes."""
    loggers: list[Logger] = []
    if LoggerName.tensorboard in config.logger:
        loggers.append(EventLog(run_dir))
    if job.is_first:
        loggers += [make(run_dir) for name, make in OTHERS.items() if name in config.logger]
    try:
        yield loggers
    finally:
        for logger in loggers:
            if isinstance(logger, WandbLog):
                logger.experiment.finish()  # the next run in this process is another


def event_sizes(loggers: Sequence[Logger]) -> dict[str, int]:
    """Where a checkpoint finds the series: bytes of event files, rows of ``metrics.csv``."""
    sizes: dict[str, int] = {}
    for logger in loggers:
        if isinstance(logger, EventLog):
            sizes |= logger.sizes()
        elif isinstance(logger, CsvLog):
            sizes[CSV] = logger.num_rows()
    return sizes
