"""Results in files, and the command as it is typed."""

import subprocess
import sys

import pytest

from judged_seeds import ResultError, e_value, judged, results_of

BEFORE, AFTER = [0.50, 0.53, 0.47, 0.52, 0.49, 0.51], [0.40, 0.42, 0.38, 0.41, 0.40, 0.42]


@pytest.fixture
def tables(tmp_path):
    for name, values in (("before", BEFORE), ("after", AFTER)):
        rows = "".join(f"{seed},{value}\n" for seed, value in enumerate(values, 1))
        (tmp_path / f"{name}.csv").write_text(f"seed,loss\n{rows}")
    return [str(tmp_path / f"{name}.csv") for name in ("before", "after")]


def test_a_table_has_a_result_for_each_seed_and_a_log_its_last(tables, tmp_path):
    assert results_of(tables[0], "loss") == [(str(seed), value) for seed, value in enumerate(BEFORE, 1)]
    run = tmp_path / "runs" / "seed_7"
    run.mkdir(parents=True)
    (run / "log.jsonl").write_text('{"step": 1, "val": {"loss": 9}}\n{"step": 2, "val": {"loss": 0.5}}\n')
    assert results_of(str(tmp_path / "runs"), "val/loss") == [("7", 0.5)]


def test_the_verdict_is_that_of_the_differences(tables):
    found, level = judged(*tables, "loss")
    assert found.p == pytest.approx(min(1, 1 / e_value([b - a for a, b in zip(BEFORE, AFTER, strict=True)])))
    assert level == 0.025  # of 0.05 for all changes
    for wrong in ("acc", "loss"):
        with pytest.raises(ResultError):
            judged(tables[0], f"{tables[1]}.gone" if wrong == "loss" else tables[1], wrong)
    with pytest.raises(ResultError, match="tries=0"):
        judged(*tables, "loss", tries=0)


def test_the_command_says_a_line_and_its_status(tables):
    command = [sys.executable, "-m", "judged_seeds", *tables, "--direction", "min", "--metric"]
    done = subprocess.run([*command, "loss"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.startswith("better: loss -0.09833")) == (0, True), done
    done = subprocess.run([*command, "lss"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "has no lss, but seed, loss" in done.stderr
