"""The score card: one way to score translations, for training and for the scripts alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from seq2seq.evaluation.bleu import bleu_metric, cased_bleu, require_pairs
from seq2seq.text.languages import UNSPACED, base_language

Texts = Sequence[str]


@dataclass(frozen=True, slots=True)
class Metric:
    """A corpus score of detokenised text, 0 to 100; the greater, the better.

    Attributes:
        name: in ``metrics.json``.
        title: in tables.
        score: of hypotheses, references and the code of their language.
        needs_spaces: has no meaning for languages that are written without spaces.
    """

    name: str
    title: str
    score: Callable[[Texts, Texts, str], float]
    needs_spaces: bool = False


def chrf(hypotheses: Texts, references: Texts, language: str = "") -> float:  # noqa: ARG001
    """chrF2 (Popović 2015), the same for all languages.

    Raises:
        ValueError: there are no translations, or their numbers differ.
    """
    require_pairs(hypotheses, references)
    return CHRF().corpus_score(hypotheses, [references]).score


def _lowercase_bleu(hypotheses: Texts, references: Texts, language: str) -> float:
    return bleu_metric(language, lowercase=True).corpus_score(hypotheses, [references]).score


def _moses_bleu(
    hypotheses: Texts, references: Texts, language: str, *, split_hyphens: bool
) -> float:
    metric = BLEU(tokenize="none", force=True)  # force: the tokens are meant to be split already
    found, wanted = (
        moses_tokens(texts, language, split_hyphens=split_hyphens)
        for texts in (hypotheses, references)
    )
    return metric.corpus_score(found, [wanted]).score


def moses_tokens(sentences: Sequence[str], language: str, *, split_hyphens: bool) -> list[str]:
    """Text as most published results on Multi30k and IWSLT were scored.

    Lower-cased, punctuation normalised, split by Moses's rules; tokens joined by spaces.

    As nmtpytorch prepares Multi30k. Languages that Moses has no rules for are split by those of
    English.

    Args:
        sentences: ordinary text.
        language: code of their language.
        split_hyphens: whether hyphens between words are tokens of their own: nmtpytorch trains on
            such tokens, and joins them again before it scores.
    """
    normalise, tokenise = _tools(language)
    return [
        tokenise.tokenize(
            normalise.normalize(sentence.lower()),
            aggressive_dash_splits=split_hyphens,
            escape=False,
            return_str=True,
        )
        for sentence in sentences
    ]


@cache
def _tools(language: str) -> tuple[MosesPunctNormalizer, MosesTokenizer]:
    """Made once a language: they read files and compile many expressions."""
    return MosesPunctNormalizer(language), MosesTokenizer(language)


METRICS = (
    Metric("bleu", "BLEU", cased_bleu),
    Metric("bleu_lowercase", "BLEU, lower-cased", _lowercase_bleu),
    Metric(
        "bleu_moses",
        "BLEU, lower-cased, Moses",
        partial(_moses_bleu, split_hyphens=True),
        needs_spaces=True,
    ),
    Metric(
        "bleu_moses_whole",
        "  its hyphens not split",
        partial(_moses_bleu, split_hyphens=False),
        needs_spaces=True,
    ),
    Metric("chrf", "chrF", chrf),
)
"""All scores of a card; those in Moses's tokens are the flavour of many published results."""


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """Corpus scores of detokenised text.

    Attributes:
        scores: by the names of `METRICS`.
        bleu_signature: sacreBLEU's signature of ``bleu``.
        num_sentences: how many were scored.
    """

    scores: Mapping[str, float]
    bleu_signature: str
    num_sentences: int

    def as_dict(self) -> dict[str, Any]:
        """The scores by name, and what they are of."""
        facts = {"bleu_signature": self.bleu_signature, "num_sentences": self.num_sentences}
        return {**self.scores, **facts}


def score_card(hypotheses: Texts, references: Texts, *, language: str) -> ScoreCard:
    """Score translations against one reference each.

    Args:
        hypotheses: the translations.
        references: one for each.
        language: code of their language.

    Raises:
        ValueError: there are none, or their numbers differ.
    """
    require_pairs(hypotheses, references)
    is_spaced = base_language(language) not in UNSPACED
    scores = {
        metric.name: metric.score(hypotheses, references, language)
        for metric in METRICS
        if is_spaced or not metric.needs_spaces
    }
    return ScoreCard(scores, bleu_signature(language), len(references))


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
    for metric in METRICS:
        if metric.name in first.scores:
            values = (f"{card.scores[metric.name]:12.2f}" for card in cards.values())
            lines.append("".join([f"{metric.title:<26}", *values]))
    return "\n".join([*lines, f"{first.num_sentences:,} sentences, {first.bleu_signature}"])
