"""seq2seq judge on the results of programs that are not ours."""

import json
from pathlib import Path

import numpy as np
import pytest
from torch.utils.tensorboard import SummaryWriter

from judged_seeds import e_value
from seq2seq.cli.main import main

BEFORE = [0.50, 0.53, 0.47, 0.52, 0.49, 0.51]
BETTER = [0.40, 0.42, 0.38, 0.41, 0.40, 0.42]
SAME = [0.50, 0.52, 0.49, 0.51, 0.50, 0.50]
SEEDS = range(1, 7)


def judge(*arguments, capsys):
    """Run the command; return its status and what it says."""
    with pytest.raises(SystemExit) as end:
        main(["judge", *map(str, arguments)])
    said = capsys.readouterr()
    return end.value.code, said.out + said.err


def table(path, values, *, seeds=SEEDS, name="val/loss"):
    path.write_text(f"seed,{name}\n" + "".join(f"{s},{v}\n" for s, v in zip(seeds, values, strict=True)))
    return path


def template(folder, values, *, named=True):
    """Runs of lightning-hydra-template: metrics.csv of Lightning's CSVLogger, one row for training and one for validation."""
    for place, (seed, value) in enumerate(zip(SEEDS, values, strict=True)):
        run = folder / str(place)
        (run / "csv/version_0").mkdir(parents=True)
        (run / ".hydra").mkdir()
        (run / ".hydra/overrides.yaml").write_text(f"- model=mnist\n{f'- seed={seed}' if named else ''}\n")
        (run / "csv/version_0/metrics.csv").write_text(
            "epoch,lr-Adam,step,train/loss,val/acc,val/loss\n"
            f"0,0.1,9,0.9,,\n0,,9,,0.1,9.9\n1,0.1,19,0.8,,\n1,,19,,0.2,{value}\n"
        )
    return folder


def mlflow(path):
    """An export of MLflow's search_runs, of both settings."""
    rows = [
        f"{k}{s},FINISHED,{k},{s},{v},7"
        for k, values in (("a", BEFORE), ("b", BETTER))
        for s, v in zip(SEEDS, values, strict=True)
    ]
    path.write_text(
        "run_id,status,params.kind,params.seed,metrics.val/loss,metrics.epoch\n" + "\n".join(rows) + "\n"
    )
    return path


def lines(path, values):
    path.write_text(
        "".join(
            json.dumps({"seed": s, "val": {"loss": v}}) + "\n" for s, v in zip(SEEDS, values, strict=True)
        )
    )
    return path


def events(folder, values):
    for seed, value in zip(SEEDS, values, strict=True):
        with SummaryWriter(folder / f"seed_{seed}") as writer:
            writer.add_scalar("val/loss", 9, 1)
            writer.add_scalar("val/loss", value, 2)
    return folder


def given(kind, folder, values):
    """Results as a program leaves them."""
    if kind == "mlflow":
        path = mlflow(folder / "runs.csv")
        return f"{path}:kind={'a' if values == BEFORE else 'b'}"
    make = {"csv": table, "template": template, "lines": lines, "events": events}[kind]
    suffix = {"csv": ".csv", "lines": ".jsonl"}.get(kind, "")
    return make(folder / f"{'before' if values == BEFORE else 'after'}{suffix}", values)


@pytest.mark.parametrize("kind", ["csv", "template", "lines", "events", "mlflow"])
def test_results_of_other_programs_are_judged_by_seed(kind, tmp_path, capsys):
    files = given(kind, tmp_path, BEFORE), given(kind, tmp_path, BETTER)
    rule = ["--metric", "val/loss", "--direction"]
    status, said = judge(*files, *rule, "min", "--json", capsys=capsys)
    found = json.loads(said)
    assert (status, found["verdict"], found["seeds"]) == (0, "better", 6)
    differences = np.array(BETTER) - np.array(BEFORE)
    assert found["mean"] == pytest.approx(differences.mean(), abs=1e-6)
    assert found["p"] == pytest.approx(1 / e_value(differences), rel=1e-3)
    status, said = judge(*files, *rule, "max", capsys=capsys)
    assert status == 4
    assert said.startswith("worse: val/loss -0.09833 (")
    assert "after 6 seeds, at any number of looks, p = 0.001" in said
    assert len(said.splitlines()) == 1


def test_what_is_not_shown_says_how_many_seeds_are_needed(tmp_path, capsys):
    files = table(tmp_path / "a.csv", BEFORE), table(tmp_path / "b.csv", SAME)
    status, said = judge(*files, "--metric", "val/loss", "--direction", "min", capsys=capsys)
    assert status == 3
    assert said.startswith("not shown: ")
    files = (
        table(tmp_path / "a.csv", BEFORE[:3], seeds=[1, 2, 3]),
        table(tmp_path / "b.csv", BETTER[:3], seeds=[1, 2, 3]),
    )
    status, said = judge(*files, "--metric", "val/loss", "--direction", "min", capsys=capsys)
    assert status == 3
    assert "more seed" in said


def test_the_hundredth_change_is_judged_as_such(tmp_path, capsys):
    files = table(tmp_path / "a.csv", BEFORE), table(tmp_path / "b.csv", BETTER)
    rule = ["--metric", "val/loss", "--direction", "min"]
    assert judge(*files, *rule, capsys=capsys)[0] == 0
    status, said = judge(*files, *rule, "--tries", "100", capsys=capsys)
    assert status == 3
    assert "for change 100" in said


def test_seeds_that_both_have_are_paired_and_runs_without_one_in_order(tmp_path, capsys):
    rule = ["--metric", "val/loss", "--direction", "min", "--json"]
    before = table(tmp_path / "a.csv", BEFORE)
    after = table(tmp_path / "b.csv", BETTER[::-1][:4], seeds=[6, 5, 4, 3])
    _, said = judge(before, after, *rule, capsys=capsys)
    assert json.loads(said)["mean"] == pytest.approx(np.mean(BETTER[2:]) - np.mean(BEFORE[2:]))
    folders = template(tmp_path / "c", BEFORE, named=False), template(tmp_path / "d", BETTER, named=False)
    _, said = judge(*folders, *rule, capsys=capsys)
    assert json.loads(said)["mean"] == pytest.approx(np.mean(BETTER) - np.mean(BEFORE))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("seed,val/loss\n1,0.1\n2,nan\n", "seed 2 is nan"),
        ("seed,val/loss\n1,0.1\n2,\n", "seed 2 is nan"),
        ("seed,val/loss\n1,0.1\n1,0.2\n", "seed 1 twice"),
        ("seed,step,val/loss\n1,1,0.1\n1,1,0.2\n", "a step of seed 1 twice"),
        ("seed,loss\n1,0.1\n", "has no val/loss, but seed, loss"),
        ("", "has no val/loss, but nothing"),
        ("seed,val/loss\n", "has no val/loss"),
        ("\xff", "cannot be read"),
    ],
)
def test_results_that_cannot_be_judged_are_refused(content, said, tmp_path, capsys):
    after = tmp_path / "b.csv"
    after.write_text(content, encoding="latin-1")
    before = table(tmp_path / "a.csv", BEFORE)
    status, text = judge(before, after, "--metric", "val/loss", "--direction", "min", capsys=capsys)
    assert status == 2
    assert said in text
    assert str(after) in text
    assert len(text.splitlines()) == 1


def test_settings_of_one_table_are_not_mixed(tmp_path, capsys):
    path = mlflow(Path(tmp_path) / "runs.csv")
    status, said = judge(path, path, "--metric", "val/loss", "--direction", "min", capsys=capsys)
    assert status == 2
    assert "FILE:COLUMN=VALUE" in said
