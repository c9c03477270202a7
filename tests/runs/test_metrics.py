"""One entry in the table, or one installed package, is all that a metric needs."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from seq2seq.command_line.reference import setting_of
from seq2seq.errors import InputError
from seq2seq.evaluation.metrics import METRICS, Metric, quick_metrics, scores_of
from seq2seq.evaluation.score_card import score_card, score_table
from seq2seq.experiments.metrics import require_scores
from seq2seq.runs.preparation import _require_gold
from seq2seq.runs.run_record import monitor
from seq2seq.runs.summary import summary
from seq2seq.runs.training_run import shown_metrics
from seq2seq.sweeps.comparison import compared_by

EXAMPLE = Path(__file__).parents[1] / "packages" / "stutter"
PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
TEXTS = ["A cat sat on the mat .", "It rains ."]
SCORED = {name: metric for name, metric in METRICS.built_in.items() if metric.score is not None}
QUICK = [name for name, metric in METRICS.built_in.items() if metric.is_quick]


@pytest.fixture
def example(install):
    """The example of docs/extending.md, installed."""
    code = (EXAMPLE / "stutter.py").read_text("utf-8")
    assert len(code.splitlines()) <= 30
    return install((EXAMPLE / "pyproject.toml").read_text("utf-8"), code)


@pytest.mark.parametrize("name", SCORED)
def test_a_metric_is_on_the_card_in_its_table_and_in_the_record(name, tmp_path):
    metric, card = METRICS[name], score_card(TEXTS, TEXTS, language="en")
    best = 100 if metric.direction == "max" else 0
    assert card.as_dict()[name] == metric.score(TEXTS, TEXTS, "en") == pytest.approx(best)
    assert metric.title in score_table({"greedy": card})
    line = summary({"test": card.as_dict(), "seconds": 1}, tmp_path).splitlines()[0]
    assert (f" {metric.brief} 100.0 " in line) is bool(metric.brief)
    monitored = summary({"test": card.as_dict(), "seconds": 1}, tmp_path, name).splitlines()[0]
    assert monitored.startswith(f"test        {metric.brief or metric.title} {best}.0   ")
    require_scores({"test": {name: 50.0}})
    with pytest.raises(ValueError, match=name):
        require_scores({"test": {name: "much"}})


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_metric_is_monitored_and_swept_for(name, configured):
    config = configured(f"trainer.monitor={name}", f"sweep.metric={name}")
    logged, direction = monitor(config)
    assert direction == ("min" if name in {"loss", "perplexity", "aer", "token_errors"} else "max")
    assert logged == ("alignment/aer" if name == "aer" else f"validation/{name}")
    assert config.sweep.metric == name
    assert name in setting_of("sweep.metric").choices


def test_quick_scores_of_translations_are_compared_and_in_hparams():
    scored = [name for name in QUICK if name in SCORED]
    assert list(compared_by()) == scored == ["bleu", "chrf", "token_errors", "exact"]
    assert list(scores_of(TEXTS, TEXTS, "en", only_quick=True)) == scored
    ledger = SimpleNamespace(best=None, history=[], tokens_per_second=None)
    card = score_card(TEXTS, TEXTS, language="en").as_dict()
    shown = shown_metrics({"test": card}, ledger, of_best=True)
    assert shown == {f"best/test_{name}": card[name] for name in scored}


def test_alignments_are_monitored_only_where_there_is_gold():
    with_gold, without = (
        SimpleNamespace(validation=[SimpleNamespace(alignment=each)]) for each in ([(0, 0)], None)
    )
    _require_gold("aer", with_gold)
    _require_gold("bleu", without)
    _require_gold("last", without)
    with pytest.raises(InputError, match=r"trainer\.monitor=aer: the validation split has no gold"):
        _require_gold("aer", without)


def test_a_metric_of_another_package_goes_the_same_way(example, configured):
    said = ["a a a b", "c d"]
    assert score_card(said, TEXTS, language="en").scores["repeated"] == 50
    assert scores_of(said, TEXTS, "en", only_quick=True)["repeated"] == 50
    assert monitor(configured("trainer.monitor=repeated")) == ("validation/repeated", "min")
    assert "repeated" in setting_of("sweep.metric").choices
    assert compared_by()["repeated"] == "repeated words"


def test_the_example_of_the_page_for_notebooks_runs(monkeypatch):
    monkeypatch.setattr(METRICS, "_added", {})
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    assert "assert" in code
    exec(compile(code, PAGE, "exec"), {})
    assert compared_by()["shorter"] == "words left out"


def test_without_its_package_a_metric_is_unknown(configured):
    with pytest.raises(InputError, match=r"trainer\.monitor=repeated is wrong: .* takes one of"):
        configured("trainer.monitor=repeated")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("raise ImportError('no licence')", "package 'bad-metric' cannot be imported .*no licence"),
        ("bad = lambda *_: 1.0", "package 'bad-metric' is no Metric"),
        (
            "from seq2seq.evaluation.metrics import Metric\nbad = Metric('x', len, 'less')",
            "package 'bad-metric' cannot be imported.*the direction of x is 'less', not min or max",
        ),
        (
            "from seq2seq.evaluation.metrics import Metric\n"
            "bad = Metric('x', len, logged='validation/loss')",
            "package 'bad-metric' cannot be imported.*x is logged by its own name: leave out",
        ),
    ],
)
def test_a_broken_package_is_left_out_in_one_line(install_part, configured, capsys, code, line):
    METRICS._warned.clear()
    install_part("bad-metric", METRICS.group, "bad = bad_metric:bad", code)
    assert "bad" not in scores_of(TEXTS, TEXTS, "en")
    (warning,) = capsys.readouterr().err.splitlines()
    assert re.search(line, warning)
    with pytest.raises(InputError, match=r"trainer\.monitor=bad is wrong"):
        configured("trainer.monitor=bad")


@pytest.mark.parametrize(
    ("score", "line"),
    [
        (lambda *_: 1 / 0, "metric 'bad' fails: ZeroDivisionError"),
        (lambda *_: "good", "metric 'bad' fails: ValueError"),
        (lambda *_: float("nan"), "metric 'bad' gives nan, which is no score"),
        (lambda *_: 1e300, "metric 'bad' gives 1e\\+300, which is no score"),
        (lambda *_: sys.exit(0), "metric 'bad' fails: SystemExit"),
    ],
)
def test_a_metric_that_fails_is_one_line_that_names_it(monkeypatch, score, line):
    monkeypatch.setattr(METRICS, "_added", {})
    METRICS.add("bad")(Metric("bad", score))
    with pytest.raises(InputError, match=line):
        scores_of(TEXTS, TEXTS, "en")


@pytest.mark.parametrize("name", ["beam", "bleu_signature", "num_sentences", "last", "step"])
def test_a_metric_has_no_name_of_what_stands_beside_it(monkeypatch, name):
    monkeypatch.setattr(METRICS, "_added", {})
    with pytest.raises(TypeError, match="cannot be called that"):
        METRICS.add(name)(Metric("x", lambda *_: 1.0))


def test_what_nothing_measures_is_not_monitored(monkeypatch):
    monkeypatch.setattr(METRICS, "_added", {})
    METRICS.add("nothing")(Metric("x", None, is_quick=True))
    assert "nothing" not in quick_metrics()
    assert {"loss", "perplexity", "aer"} <= quick_metrics().keys()
