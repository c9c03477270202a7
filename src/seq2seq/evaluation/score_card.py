"""The score card: one way to score translations, for training and for the scripts alike."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacremoses import MosesPunctNormalizer, MosesTokenizer


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """Corpus scores of detokenised text, 0 to 100.

    Attributes:
        bleu: cased BLEU (Papineni et al. 2002), sacreBLEU's 13a tokenisation (Post 2018).
        bleu_lowercase: the same after lower-casing.
        bleu_moses: BLEU of lower-cased text in Moses's tokens, see `moses_tokens`: the flavour of
            many published results.
        chrf: chrF2 (Popović 2015).
        bleu_signature: sacreBLEU's signature of `bleu`.
        num_sentences: how many were scored.
    """

    bleu: float
    bleu_lowercase: float
    bleu_moses: float
    chrf: float
    bleu_signature: str
    num_sentences: int

    def as_dict(self) -> dict[str, Any]:
        """The scores by name."""
        return asdict(self)


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
    _require_pairs(hypotheses, references)
    cased = BLEU()
    return ScoreCard(
        bleu=cased.corpus_score(hypotheses, [references]).score,
        bleu_lowercase=BLEU(lowercase=True).corpus_score(hypotheses, [references]).score,
        bleu_moses=_moses_bleu(hypotheses, references, language),
        chrf=chrf(hypotheses, references),
        bleu_signature=str(cased.get_signature()),
        num_sentences=len(references),
    )


def cased_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """`ScoreCard.bleu` alone, for every validation.

    Raises:
        ValueError: there are no translations, or their numbers differ.
    """
    _require_pairs(hypotheses, references)
    return BLEU().corpus_score(hypotheses, [references]).score


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """`ScoreCard.chrf` alone, for every validation.

    Raises:
        ValueError: there are no translations, or their numbers differ.
    """
    _require_pairs(hypotheses, references)
    return CHRF().corpus_score(hypotheses, [references]).score


def _moses_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> float:
    metric = BLEU(tokenize="none", force=True)  # force: the tokens are meant to be split already
    return metric.corpus_score(
        moses_tokens(hypotheses, language), [moses_tokens(references, language)]
    ).score


def moses_tokens(sentences: Sequence[str], language: str) -> list[str]:
    """Text as most published results on Multi30k and IWSLT were scored.

    Lower-cased, punctuation normalised, split by Moses's rules; tokens joined by spaces.

    As nmtpytorch prepares Multi30k: hyphens between words are tokens of their own. Languages
    that Moses has no rules for are split by those of English.

    Args:
        sentences: ordinary text.
        language: code of their language.
    """
    normalise, tokenise = _tools(language)
    return [
        tokenise.tokenize(
            normalise.normalize(sentence.lower()),
            aggressive_dash_splits=True,
            escape=False,
            return_str=True,
        )
        for sentence in sentences
    ]


@cache
def _tools(language: str) -> tuple[MosesPunctNormalizer, MosesTokenizer]:
    """Made once a language: they read files and compile many expressions."""
    return MosesPunctNormalizer(language), MosesTokenizer(language)


def _require_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references) or not references:
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")


TITLES = {
    "bleu": "BLEU",
    "bleu_lowercase": "BLEU, lower-cased",
    "bleu_moses": "BLEU, lower-cased, Moses",
    "chrf": "chrF",
}


def score_table(cards: dict[str, ScoreCard]) -> str:
    """Score cards side by side, as a table for the terminal.

    Args:
        cards: by the search that made the translations.
    """
    lines = ["".join([" " * 26, *(f"{name:>12}" for name in cards)])]
    for attribute, title in TITLES.items():
        values = (f"{getattr(card, attribute):12.2f}" for card in cards.values())
        lines.append("".join([f"{title:<26}", *values]))
    first = next(iter(cards.values()))
    return "\n".join([*lines, f"{first.num_sentences:,} sentences, {first.bleu_signature}"])
