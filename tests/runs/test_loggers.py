"""Loggers beside TensorBoard: the same scalars in all of them, and whole after a resume."""

import csv
import json
import sys
from types import SimpleNamespace

import pytest
from lightning.pytorch.loggers import MLFlowLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seq2seq.config import LoggerName
from seq2seq.errors import InputError
from seq2seq.runs.making.loggers import CSV, CsvLog, MlflowLog, WandbLog, rewind_rows
from seq2seq.runs.run import run
from tests.stops import crash, stopped_after

BOTH = ["logger=[tensorboard,csv]", "trainer.log_every=1", "data.test_pairs=1"]
BOTH += ["tensorboard.heatmaps=0", "tensorboard.panel.first=0"]


def rows_of(folder):
    """Of each scalar in metrics.csv, steps and values."""
    found = {}
    with (folder / CSV).open() as file:
        for row in csv.DictReader(file):
            step = int(row.pop("step"))
            for tag, value in row.items():
                if value:
                    found.setdefault(tag, []).append((step, pytest.approx(float(value), rel=1e-6)))
    return found


def events_of(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}, purge_orphaned_data=False)
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.scalars.Keys()}


def test_a_resumed_run_has_the_same_scalars_in_tensorboard_and_in_csv(tiny, tmp_path):
    folder, other = tmp_path / "run", tmp_path / "other"
    with stopped_after(12, crash), pytest.raises(RuntimeError):
        run(tiny(*BOTH), folder)
    run(tiny(*BOTH), folder)
    rows = rows_of(folder)
    assert [step for step, _ in rows["train/loss"]] == list(range(1, 17))
    assert "best/test_bleu" in rows
    assert events_of(folder) == rows
    run(tiny(*BOTH, "logger=[csv]", "trainer.max_epochs=1", "trainer.profile=true"), other)
    assert not list(other.glob("events*"))
    alone = rows_of(other)
    assert alone.keys() == rows.keys()
    assert [step for step, _ in alone["train/loss"]] == list(range(1, 9))
    (trace,) = (other / "profile").glob("*.pt.trace.json")
    names = [each["name"] for each in json.loads(trace.read_text())["traceEvents"]]
    assert sum(name.startswith("ProfilerStep#") for name in names) >= 5
    assert "Optimizer.step" in (other / "profile" / "fit-operations.txt").read_text()


def test_rows_after_a_checkpoint_are_taken_back_and_others_follow(tmp_path):
    log = CsvLog(tmp_path)
    log.log_metrics({"loss": 1.5}, 1)
    assert log.num_rows() == 1
    log.log_metrics({"loss": 1.25, "bleu": 2.0}, 2)
    log.save()
    rewind_rows(tmp_path, 1)
    again = CsvLog(tmp_path)
    again.log_metrics({"accuracy": 3.0}, 2)
    assert again.num_rows() == 2
    lines = (tmp_path / CSV).read_text().split()
    assert lines == ["accuracy,bleu,loss,step", ",,1.5,1", "3.0,,,2"]
    rewind_rows(tmp_path, 0)
    assert CsvLog(tmp_path).num_rows() == 0
    again = CsvLog(tmp_path)
    again.log_metrics({"loss": 1.0}, 1)
    assert again.num_rows() == 1


def test_rows_are_written_through_no_link(tmp_path):
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text("mine\n1\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / CSV).symlink_to(elsewhere)
    with pytest.raises(InputError, match=r"metrics\.csv is a link"):
        rewind_rows(tmp_path / "run", 0)
    assert elsewhere.read_text() == "mine\n1\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"loss,step\n\xff,1\n", "can't decode byte 0xff"),
        (b"loss,step\n1,2,3\n", "a row has too many"),
        (b"loss,step\n%s,1\n" % (b"9" * 200_000), "field larger than field limit"),
    ],
)
def test_rows_that_are_none_are_refused_in_one_line(tmp_path, content, reason):
    (tmp_path / CSV).write_bytes(content)
    with pytest.raises(InputError, match=rf"metrics\.csv is no table of scalars \(.*{reason}"):
        rewind_rows(tmp_path, 1)
    assert (tmp_path / CSV).read_bytes() == content


def test_a_folder_in_the_place_of_the_rows_is_refused(tmp_path):
    (tmp_path / CSV).mkdir()
    with pytest.raises(InputError, match=r"metrics\.csv is no table of scalars \(.*regular file"):
        CsvLog(tmp_path).log_metrics({"loss": 1.0}, 1)


def test_a_row_that_was_cut_short_is_taken_back(tmp_path):
    (tmp_path / CSV).write_text("loss,bleu,step\n1.5,2.0,1\n1.2")
    rewind_rows(tmp_path, 1)
    assert (tmp_path / CSV).read_text().split() == ["loss,bleu,step", "1.5,2.0,1"]


def test_a_logger_whose_package_is_absent_is_refused_before_the_corpus(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("seq2seq.runs.run.find_spec", lambda _: None)
    config = tiny("logger=[wandb]")
    assert config.logger == [LoggerName.wandb]
    with pytest.raises(InputError, match=r"logger=wandb needs .* 'seq2seq-attention\[wandb\]'"):
        run(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.fixture
def mlflow(monkeypatch):
    """What a database says of an experiment, in the place of MLflow; an exception if it is none."""
    said = SimpleNamespace(artifact_location=None, error=None, opened=[])

    def experiment(_):
        if said.error is not None:
            raise said.error
        return said if said.artifact_location else None

    def opens(self, **given):
        said.opened.append(given["tracking_uri"])
        self._experiment_name = given["experiment_name"]
        self._mlflow_client = SimpleNamespace(get_experiment_by_name=experiment)

    monkeypatch.setattr(MLFlowLogger, "__init__", opens)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return said


@pytest.mark.parametrize("name", ["mlflow.db", "mlflow"])
def test_mlflow_writes_through_no_link(mlflow, tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / "runs" / "run").mkdir(parents=True)
    (tmp_path / "runs" / name).symlink_to(elsewhere)
    with pytest.raises(InputError, match=rf"{name} is a link"):
        MlflowLog(tmp_path / "runs" / "run")
    assert mlflow.opened == []


def test_a_second_name_of_another_database_is_not_opened(mlflow, tmp_path):
    (tmp_path / "elsewhere.db").write_text("mine")
    (tmp_path / "runs" / "run").mkdir(parents=True)
    (tmp_path / "runs" / "mlflow.db").hardlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(InputError, match=r"mlflow\.db is a link, or no plain file"):
        MlflowLog(tmp_path / "runs" / "run")
    assert mlflow.opened == []


def test_a_database_that_is_there_sends_pictures_nowhere_else(mlflow, tmp_path):
    own = (tmp_path / "mlflow").as_uri()
    for mlflow.artifact_location in (None, own):
        MlflowLog(tmp_path / "run")
    for mlflow.artifact_location in ("s3://bucket", (tmp_path / "other").as_uri(), f"{own}/../x"):
        with pytest.raises(InputError, match=r"mlflow\.db has pictures written to .*not beside it"):
            MlflowLog(tmp_path / "run")
    mlflow.error = RuntimeError("file is not a database\nTraceback")
    with pytest.raises(InputError, match=r"no database of MLflow \(file is not a database\)"):
        MlflowLog(tmp_path / "run")


def test_wandb_writes_through_no_link(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(Settings=lambda **_: None))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "wandb").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="wandb is a link that leads out of"):
        WandbLog(tmp_path / "run")
