"""The score card: one way to score translations, for training and for the scripts alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from seq2seq.metrics import METRICS, require_pairs


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """Corpus scores of detokenised text, 0 to 100.

    Attributes:
        scores: by name, see `METRICS`.
        bleu_signature: sacreBLEU's signature of cased BLEU.
        num_sentences: how many were scored.
    """

    scores: Mapping[str, float]
    bleu_signature: str
    num_sentences: int

    def as_dict(self) -> dict[str, Any]:
        """The scores by name, signature and number."""
        facts = {"bleu_signature": self.bleu_signature, "num_sentences": self.num_sentences}
        return {**self.scores, **facts}


def sentence_bleu_score(hypothesis: str, reference: str) -> float:
    """BLEU of one sentence, 0 to 100, smoothed, over the orders that its length allows."""
    return BLEU(effective_order=True).sentence_score(hypothesis, [reference]).score


def score_card(hypotheses: Sequence[str], references: Sequence[str], *, language: str) -> ScoreCard:
    """Score translations against one reference each.

    Args:
        hypotheses: the translations.
        references: one for each.
        language: code of their language, for Moses's rules.

    Raises:
        ValueError: there are none, or their numbers differ.
    """
    require_pairs(hypotheses, references)
    signed = BLEU()
    signed.corpus_score(hypotheses, [references])
    return ScoreCard(
        {name: each.score(hypotheses, references, language) for name, each in METRICS.items()},
        bleu_signature=str(signed.get_signature()),
        num_sentences=len(references),
    )


def score_table(cards: dict[str, ScoreCard]) -> str:
    """Score cards side by side, as a table for the terminal.

    Args:
        cards: by the search that made the translations.
    """
    lines = ["".join([" " * 26, *(f"{name:>12}" for name in cards)])]
    for metric in METRICS.values():
        values = (f"{card.scores[metric.name]:12.2f}" for card in cards.values())
        lines.append("".join([f"{metric.title:<26}", *values]))
    first = next(iter(cards.values()))
    return "\n".join([*lines, f"{first.num_sentences:,} sentences, {first.bleu_signature}"])
