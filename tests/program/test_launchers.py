"""Sweeps by launchers that others have written, as a cluster uses them: make clusters."""

import json

import pytest

from tests.conftest import TINY

LINE = (*(each for each in TINY if "debug" not in each), "model.decoder.hidden_size=16", "model.encoder.hidden_size=16",
        "trainer.max_epochs=1", "seed=1,2")  # fmt: skip
LAUNCHERS = {
    "joblib": ["hydra.launcher.n_jobs=2"],
    "submitit_local": ["hydra.launcher.timeout_min=10", "hydra.launcher.submitit_folder=submitit"],
    "ray": [],
}


@pytest.mark.long
@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_sweep_by_a_launcher_of_others(name, program, tmp_path):
    pytest.importorskip(f"hydra_plugins.hydra_{name.removesuffix('_local')}_launcher")
    command = ["-m", f"hydra/launcher={name}", *LAUNCHERS[name], *LINE]
    program(*command, cwd=tmp_path, check=0, timeout=400)
    found = sorted((tmp_path / "runs/baseline").glob("*/metrics.json"))
    assert [json.loads(path.read_text())["finished"] for path in found] == [True, True]
    assert (
        "is finished" in program(*command, cwd=tmp_path, check=0, timeout=400).text
        or name == "submitit_local"
    )
