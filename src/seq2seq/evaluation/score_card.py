"""The score card: one way to score translations, for training and for the scripts alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seq2seq.evaluation.bleu import bleu_metric
from seq2seq.evaluation.bleu_statistics import sentence_statistics
from seq2seq.evaluation.metrics import METRICS, Scorer, scores_of
from seq2seq.evaluation.significance import interval_of

Texts = Sequence[str]


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """Corpus scores of detokenised text.

    Attributes:
        scores: by the names of `METRICS`.
        bleu_signature: sacreBLEU's signature of ``bleu``.
        num_sentences: how many were scored.
        bleu_interval: see `interval_of`, at a level of 0.05; None where nobody asked.
    """

    scores: Mapping[str, float]
    bleu_signature: str
    num_sentences: int
    bleu_interval: tuple[float, float] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The scores by name, and what they are of."""
        facts = {"bleu_signature": self.bleu_signature, "num_sentences": self.num_sentences}
        asked = {"bleu_interval": self.bleu_interval} if self.bleu_interval else {}
        return {**self.scores, **facts, **asked}


def score_card(
    hypotheses: Texts,
    references: Texts,
    *,
    language: str,
    with_interval: bool = False,
    metrics: Mapping[str, Scorer] | None = None,
) -> ScoreCard:
    """Score translations against one reference each.

    Args:
        hypotheses: the translations.
        references: one for each.
        language: code of their language.
        with_interval: whether to draw sentences for `ScoreCard.bleu_interval`.
        metrics: further scores by name.

    Raises:
        ValueError: there are none, or their numbers differ.
        InputError: a metric of another package fails.
    """
    scores = scores_of(hypotheses, references, language, others=metrics)
    interval = None
    if with_interval:
        interval = interval_of(sentence_statistics(hypotheses, references, language), 0.05)
    return ScoreCard(scores, bleu_signature(language), len(references), interval)


def bleu_signature(language: str) -> str:
    """The signature of ``bleu`` by sacreBLEU, against one reference."""
    metric = bleu_metric(language)
    metric.corpus_score([""], [[""]])  # it counts references only then
    return str(metric.get_signature())


def score_table(cards: dict[str, ScoreCard]) -> str:
    """Score cards side by side, as a table for the terminal.

    Args:
        cards: by the search that made the translations, all of one language.
    """
    lines = ["".join([" " * 26, *(f"{name:>12}" for name in cards)])]
    first = next(iter(cards.values()))
    for name in first.scores:
        values = (f"{card.scores[name]:12.2f}" for card in cards.values())
        title = METRICS[name].title if name in METRICS else name
        lines.append("".join([f"{title:<26}", *values]))
        if name == "bleu" and first.bleu_interval:
            intervals = (card.bleu_interval or () for card in cards.values())
            cells = ("–".join(f"{end:.1f}" for end in ends) for ends in intervals)
            lines.append("".join([f"{'  95 % interval':<26}", *(f"{cell:>12}" for cell in cells)]))
    return "\n".join([*lines, f"{first.num_sentences:,} sentences, {first.bleu_signature}"])
