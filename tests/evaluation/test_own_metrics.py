"""Metrics of the user's own: of torchmetrics, with sources, with several parts."""

import re
import sys
from functools import partial
from types import SimpleNamespace

import pytest
import sacrebleu
import torch
from torchmetrics import text

from seq2seq.common.errors import InputError
from seq2seq.evaluation import scores_of
from seq2seq.evaluation.metrics import direction_of
from tests.conftest import ROOT

SOURCES = ["Der Hund sieht die Katze.", "Ja.", "Ich gehe."]
HYPOTHESES = ["the dog sees a cat .", "yes", "I go home"]
REFERENCES = ["the dog sees the cat .", "yes", "I am going home"]


def score(**metrics):
    found = scores_of(HYPOTHESES, REFERENCES, "en", only_quick=True, others=metrics, sources=SOURCES)
    return {name: value for name, value in found.items() if name.split("_")[0] in metrics}


def test_text_metrics_of_torchmetrics_score_these_texts_alone():
    metrics = {
        "bleu": text.SacreBLEUScore(n_gram=2), "chrf": text.CHRFScore(n_word_order=0), "wer": text.WordErrorRate(),
        "ter": text.TranslationEditRate(), "distance": text.EditDistance(reduction="sum"),
    }  # fmt: skip
    for _ in range(2):  # the second validation knows nothing of the first
        found = score(**metrics)
        assert found["bleu"] == pytest.approx(
            sacrebleu.BLEU(max_ngram_order=2).corpus_score(HYPOTHESES, [REFERENCES]).score / 100, abs=1e-4
        )
        assert found["chrf"] == pytest.approx(
            sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score / 100, abs=1e-3
        )
        assert found["wer"] == pytest.approx(3 / 11)
        assert found["ter"] == pytest.approx(3 / 11)
        assert found["distance"] == 9


def test_a_metric_is_given_the_sources_if_it_asks_for_them():
    calls = []

    class Quality:
        def __call__(self, hypotheses, references, language, *, sources):
            calls.append((hypotheses, references, language, sources))
            return 0.5

    def overlap(hypotheses, references, language, sources, *, weight):
        return weight * sum(map(len, sources))

    found = score(quality=Quality(), overlap=partial(overlap, weight=2), plain=lambda h, r, language: 7)
    assert found == {"quality": 0.5, "overlap": 2 * sum(map(len, SOURCES)), "plain": 7}
    assert calls == [(HYPOTHESES, REFERENCES, "en", SOURCES)]


def test_the_class_of_the_docs_calls_comet(monkeypatch):
    def predict(rows, **options):
        assert options["gpus"] == 0
        assert [row["src"] for row in rows] == SOURCES
        return SimpleNamespace(system_score=sum(row["mt"] == row["ref"] for row in rows) / len(rows))

    comet = SimpleNamespace(
        download_model=lambda name: name, load_from_checkpoint=lambda _: SimpleNamespace(predict=predict)
    )
    monkeypatch.setitem(sys.modules, "comet", comet)
    page = (ROOT / "docs/howto/extending.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"(?ms)^class Comet:.*?(?=^```)", page)
    names = {}
    exec(code, names)
    assert score(comet=names["Comet"]()) == {"comet": pytest.approx(1 / 3)}


def test_parts_are_named_and_values_of_sentences_averaged():
    def parts(*_):
        return {"f1": torch.tensor([0.0, 0.5, 1.0]), "recall": torch.tensor(0.25)}

    parts.higher_is_better = True
    assert score(parts=parts) == {"parts_f1": 0.5, "parts_recall": 0.25}
    assert direction_of("val/parts_f1", {"parts": parts, "part": print}) == "max"


@pytest.mark.parametrize(
    "metric", [partial(text.CharErrorRate), lambda *_: "good", lambda *_: torch.zeros(2, 2)]
)
def test_what_is_no_number_is_refused_with_its_key(metric):
    with pytest.raises(InputError, match=r"module\.metrics\.own"):
        score(own=metric)
