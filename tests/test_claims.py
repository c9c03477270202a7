"""Claims of the literature: their files, how they are judged, and the page."""

import importlib.util
import json

import pytest
import yaml
from hydra import compose, initialize_config_dir

from hydra_checked.program import HYDRA_BASE
from seq2seq.settings.application import OBJECTS
from seq2seq.settings.config import check
from tests.conftest import ROOT
from tests.program.test_compare import make_run

CLAIMS = sorted((ROOT / "benchmarks/claims").glob("*.yaml"))


@pytest.fixture
def judge():
    spec = importlib.util.spec_from_file_location("judge", ROOT / "benchmarks/claims/judge.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", CLAIMS, ids=lambda path: path.stem)
def test_a_claim_compares_settings_of_its_sweep(path, judge):
    claim = yaml.safe_load(path.read_text())
    sweep = {key: value if isinstance(value, list) else [value] for key, value in claim["sweep"].items()}
    for each in claim["comparisons"]:
        assert each.get("expected", "more") in ("more", "less", "no_more")
        for key, value in (each["these"] | each.get("those", {})).items():
            assert key.startswith(("search.", "weights")) or value in sweep[key]
    with initialize_config_dir(str(ROOT / "conf"), **HYDRA_BASE):
        for place in (0, -1):
            values = {key: value[place] for key, value in (sweep | claim.get("tuned", {})).items()}
            config = compose("config", [f"{key}={judge.written(value)}" for key, value in values.items()],
                             return_hydra_config=True)  # fmt: skip
            config.paths.run_dir = "x"
            for node in OBJECTS:
                check(config[node], node)


def test_the_page_has_what_the_results_say(judge):
    page = (ROOT / "docs/results/claims.md").read_text()
    assert page == judge.page()
    for path in CLAIMS:
        assert yaml.safe_load(path.read_text())["says"] in page
    for path in (ROOT / "docs/results/claims").glob("*.json"):
        result = json.loads(path.read_text())
        claimed = [
            each["finding"] == "as claimed" for each in result["found"] if each["finding"] != "no expectation"
        ]
        expected = "reproduced" if all(claimed) else "depends" if any(claimed) else "not reproduced"
        assert result["verdict"] == expected
        assert result["commit"]
        assert result["command"] == f"python benchmarks/claims/judge.py {path.stem}"  # of this program


@pytest.mark.parametrize(
    ("these", "those", "expected", "margin", "finding"),
    [
        ("good", "bad", "more", 0, "as claimed"),
        ("bad", "good", "more", 0, "the opposite"),
        ("bad", "good", "less", 0, "as claimed"),
        ("good", "bad", "no_more", 0, "the opposite"),
        ("good", "same", "no_more", 20, "as claimed"),
        ("good", "same", "more", 0, "not shown"),
        ("good", "bad", None, 0, "no expectation"),
        ("good", None, "more", 50, "as claimed"),
        ("bad", None, "more", 90, "the opposite"),
    ],
)
def test_comparisons_are_judged_by_their_intervals(
    these, those, expected, margin, finding, tmp_path, judge, monkeypatch
):
    monkeypatch.setattr(judge, "ROOT", tmp_path)
    for kind, quality in (("good", 0.97), ("same", 0.96), ("bad", 0.6)):
        for seed in (1, 2, 3):
            make_run(tmp_path / "runs/claims-x" / f"{kind}{seed}", seed, quality, kind=kind)
    for path in (tmp_path / "runs/claims-x").glob("*/metrics.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"seconds": 60}))
    comparison = {"says": "it", "measure": "bleu", "these": {"kind": these}, "margin": margin}
    comparison |= {"those": {"kind": those}} if those else {}
    comparison |= {"expected": expected} if expected else {}
    claim = {
        "name": "x",
        "says": "x",
        "source": "y",
        "sweep": {"seed": [1, 2, 3]},
        "comparisons": [comparison],
    }
    result = judge.judged(claim)
    assert result["found"][0]["finding"] == finding
    assert result["num_runs"] == 9
    assert result["minutes"] == 9


def test_a_claim_is_judged_onto_the_page_and_others_are_not_measured(tmp_path, judge, monkeypatch):
    for name, value in (("ROOT", tmp_path), ("HERE", tmp_path), ("RESULTS", tmp_path / "results/claims")):
        monkeypatch.setattr(judge, name, value)
    (tmp_path / "results").mkdir()
    (tmp_path / "page.md").write_text("# Claims\n")
    for fed, quality in ((True, 0.97), (False, 0.6)):
        for seed in (1, 2):
            make_run(tmp_path / "runs/claims-fed" / f"{fed}{seed}", seed, quality, fed=fed)
    for path in (tmp_path / "runs/claims-fed").glob("*/metrics.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"seconds": 60}))
    compared = {"says": "fed", "measure": "bleu", "these": {"fed": True}, "those": {"fed": False}}
    claim = {"says": "It helps.", "source": "Someone", "sweep": {"fed": [True, False], "seed": [1, 2]},
             "comparisons": [compared]}  # fmt: skip
    for name in ("fed", "other"):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(claim))
    judge.main(["fed"])
    judge.main([])
    page = (tmp_path / "results/claims.md").read_text()
    judged, not_run = page.split("## Not run")
    (row,) = (line for line in judged.splitlines() if line.startswith("| [It helps.](#fed) | Someone |"))
    assert "| 4, 4 |" in row
    assert "| It helps. | `other` |" in not_run
    assert "## fed" in page
    assert "## other" not in page
    assert (tmp_path / "results/claims/fed.png").is_file()


def test_runs_of_a_swept_switch_are_found(tmp_path, judge, monkeypatch):
    monkeypatch.setattr(judge, "ROOT", tmp_path)
    make_run(tmp_path / "runs/claims-y/on", 1, 0.9, fed=True)
    assert judge.finished({"name": "y"}, {"fed": True, "seed": 1}).folder.name == "on"
    assert judge.finished({"name": "y"}, {"fed": False}) is None


def test_the_alignment_error_rate_is_that_of_the_validation_with_the_least_loss(tmp_path, judge, monkeypatch):
    from torch.utils.tensorboard import SummaryWriter

    monkeypatch.setattr(judge, "ROOT", tmp_path)
    make_run(tmp_path / "runs/claims-z/one", 1, 0.9, fed=True)
    with SummaryWriter(tmp_path / "runs/claims-z/one") as writer:
        for step, (loss, rate) in enumerate([(3.0, 0.5), (1.0, 0.25), (2.0, 0.125)]):
            writer.add_scalar("val/loss", loss, step)
            writer.add_scalar("val_alignment/aer", rate, step)
    claim = {"name": "z", "sweep": {"fed": [True], "seed": [1]}}
    counts, score = judge.measured(claim, "aer", {"fed": True})
    assert score(counts.sum(axis=(0, 1))) == 25
