"""The score card: one way to score translations, for training and for the scripts alike."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """Corpus scores of detokenised text, 0 to 100.

    Attributes:
        bleu: cased BLEU (Papineni et al. 2002), sacreBLEU's 13a tokenisation (Post 2018).
        bleu_lowercase: the same after lower-casing.
        chrf: chrF2 (Popović 2015).
        bleu_signature: sacreBLEU's signature of `bleu`.
    """

    bleu: float
    bleu_lowercase: float
    chrf: float
    bleu_signature: str

    def as_dict(self) -> dict[str, float | str]:
        """The scores by name."""
        return asdict(self)

    def table(self) -> str:
        """The scores as a table for the terminal."""
        return "\n".join(
            [
                f"BLEU              {self.bleu:6.2f}   {self.bleu_signature}",
                f"BLEU, lower-cased {self.bleu_lowercase:6.2f}",
                f"chrF              {self.chrf:6.2f}",
            ]
        )


def sentence_bleu_score(hypothesis: str, reference: str) -> float:
    """BLEU of one sentence, 0 to 100, smoothed, over the orders that its length allows."""
    return BLEU(effective_order=True).sentence_score(hypothesis, [reference]).score


def score_card(hypotheses: Sequence[str], references: Sequence[str]) -> ScoreCard:
    """Score translations against one reference each.

    Raises:
        ValueError: there are none, or their numbers differ.
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")
    cased = BLEU()
    return ScoreCard(
        bleu=cased.corpus_score(hypotheses, [references]).score,
        bleu_lowercase=BLEU(lowercase=True).corpus_score(hypotheses, [references]).score,
        chrf=CHRF().corpus_score(hypotheses, [references]).score,
        bleu_signature=str(cased.get_signature()),
    )
