from types import SimpleNamespace

import pytest

from seq2seq.application.comparison import COLUMNS
from seq2seq.application.reference import setting_of
from seq2seq.application.run import summary
from seq2seq.application.run_record import monitor
from seq2seq.application.training_run import shown_metrics
from seq2seq.errors import InputError
from seq2seq.evaluation.score_card import score_card, score_table
from seq2seq.experiments.metrics import require_scores
from seq2seq.metrics import METRICS, QUICK

TEXTS = ["A cat sat on the mat .", "It rains ."]
CARD = score_card(TEXTS, TEXTS, language="en")


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_a_metric_is_on_the_card_in_its_table_and_in_the_record(metric, tmp_path):
    assert CARD.as_dict()[metric.name] == metric.score(TEXTS, TEXTS, "en")
    assert metric.title in score_table({"greedy": CARD})
    line = summary({"test": CARD.as_dict(), "seconds": 1}, tmp_path).splitlines()[0]
    assert (f" {metric.brief} 100.0 " in line) is bool(metric.brief)
    require_scores({"test": {metric.name: 50.0}})
    with pytest.raises(ValueError, match=metric.name):
        require_scores({"test": {metric.name: "much"}})


@pytest.mark.parametrize("metric", QUICK, ids=lambda metric: metric.name)
def test_a_quick_metric_is_monitored_swept_compared_and_in_hparams(metric, configured):
    assert monitor(configured(f"trainer.monitor={metric.name}")) == (
        f"validation/{metric.name}",
        metric.direction,
    )
    assert metric.name in setting_of("sweep.metric").choices
    assert f"test {metric.title}" in COLUMNS
    ledger = SimpleNamespace(best=None, history=[], tokens_per_second=None)
    assert f"best/test_{metric.name}" in shown_metrics(
        {"test": CARD.as_dict()}, ledger, of_best=True
    )


def test_a_metric_that_is_no_quick_one_is_not_monitored(configured):
    with pytest.raises(InputError, match=r"trainer\.monitor takes one of loss, bleu, chrf, last"):
        configured("trainer.monitor=bleu_moses")
