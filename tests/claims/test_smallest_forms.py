"""Every claim from its file to its verdict, in its smallest form."""

from dataclasses import replace
from unittest import mock

import pytest
import yaml

from seq2seq.claims.result import FOLDER, claim_names, configured, judged
from seq2seq.sweeps import hypothesis
from tests.swept import PROGRAM, run_sweep
from tests.tiny import SMALL_MODEL

SMALLER = {
    "data.train_pairs": 60,
    "data.validation_pairs": 10,
    "data.test_pairs": 40,
    "trainer.max_epochs": 1,
    **dict(each.split("=") for each in SMALL_MODEL),
    "seed": "1,2",
}
RATES = {"optim.learning_rate": "0.002,0.004"}


def smaller(name):
    """The design of a claim, of two seeds, two rates and models that know nothing."""
    design = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    given = design["parameters"]
    swept = {key: value for key, value in given.items() if "," in str(value)}
    rates = RATES if "optim.learning_rate" in swept else {}
    parameters = {**given, **SMALLER, **swept, "seed": "1,2", **rates}
    return design | {"parameters": {key: str(value) for key, value in parameters.items()}}


@pytest.mark.long
@pytest.mark.parametrize("name", claim_names())
def test_a_claim_trains_and_is_judged_in_its_smallest_form(name, tmp_path):
    design = smaller(name)
    conf = tmp_path / "conf" / "sweep"
    conf.mkdir(parents=True)
    text = "# @package sweep\n" + yaml.safe_dump(design, sort_keys=False)
    (conf / "smallest.yaml").write_text(text, "utf-8")
    with mock.patch("tests.swept.STUB", PROGRAM):  # which trains
        status, printed = run_sweep(tmp_path, f"--config-dir={conf.parent}", "sweep=smallest")
    assert status == 0, printed
    base = configured(name, [f"runs_dir={tmp_path}"])
    values = {key: value for key, value in design.items() if key != "defaults"}
    values["sampler"] = type(base.sweep.sampler)[values.get("sampler", "grid")]
    result, picture = judged(name, replace(base, sweep=replace(base.sweep, **values)))
    assert len(result.found) == len(design["claim"]["comparisons"])
    assert result.num_runs >= 2
    assert result.rests_on == hypothesis.files_now()
    assert picture.startswith(b"\x89PNG")
