"""MLflow and W&B have one run for a folder, with the parameters and scores, however often its training is continued."""

import pytest

from tests.conftest import TINY

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]  # warnings of packages of others

LONGER = "trainer.max_epochs=1", "trainer.max_epochs=2"
KEYS = (
    *TINY,
    "callbacks.attention.heatmaps=1",
    "data.max_examples=16",
    "callbacks.attention.steps=[]",
    "callbacks.samples=null",
    "name=one",
)


def test_mlflow_has_one_run_of_two_starts_with_its_parameters(program, tmp_path):
    tracking = pytest.importorskip("mlflow.tracking", reason="pip install mlflow")
    pytest.importorskip("alembic")
    for longer in LONGER:
        program(*KEYS, "logger=mlflow", longer, cwd=tmp_path, check=0, timeout=400)
    client = tracking.MlflowClient(f"sqlite:///{tmp_path}/runs/mlflow.db")
    experiment = client.get_experiment_by_name("baseline")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    steps = [each.step for each in client.get_metric_history(run.info.run_id, "val/loss")]
    assert steps == sorted({*steps})
    assert len(steps) == 2
    assert {"test/bleu", "test/chrf"} <= run.data.metrics.keys()
    assert run.data.params["data.batch_size"] == "8"
    assert run.data.params["model.decoder.cell"] == "gru"
    assert run.data.tags["now.trainer.max_epochs"] == "2"
    assert run.data.tags["seed"] == "1"
    found = client.search_runs([experiment.experiment_id], "params.`data.batch_size` = '8'")
    assert len(found) == 1
    assert client.list_artifacts(run.info.run_id)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]
    program(*KEYS, "logger=mlflow", "overwrite=true", LONGER[0], cwd=tmp_path, check=0, timeout=400)
    assert len(client.search_runs([experiment.experiment_id])) == 2


def test_wandb_has_one_run_of_two_starts(program, tmp_path):
    pytest.importorskip("wandb", reason="pip install wandb")
    for longer in LONGER:
        keys = *KEYS, "logger=wandb", "logger.wandb.offline=true", longer
        program(*keys, cwd=tmp_path, check=0, timeout=400)
    folder = tmp_path / "runs/baseline/one"
    known = (folder / "wandb_run_id").read_text(encoding="utf-8").strip()
    files = sorted(folder.rglob("*.wandb"))
    assert [path.name for path in files] == [f"run-{known}.wandb"] * 2
    for path in files:  # records, whose texts stand in them as they are
        content = path.read_bytes()
        assert all(name in content for name in (b"val/loss", b"test/bleu", b"data.batch_size", b"seed=1"))
        assert [*path.parent.glob("files/media/images/val_attention/*.png")]
