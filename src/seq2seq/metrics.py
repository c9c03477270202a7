"""The metrics of translations: one entry in `METRICS` is all that a metric needs.

From there it reaches the score card, the line of a finished run and the reading of its record;
where it is quick also every validation, and with that `trainer.monitor`, early stopping, plateaus,
sweeps, the comparison of runs and the HParams tab. The libraries load when something is scored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

Texts = Sequence[str]
Direction = Literal["min", "max"]


@dataclass(frozen=True, slots=True)
class Metric:
    """How well translations agree with references, 0 to 100.

    Attributes:
        name: by which it is recorded and chosen.
        title: what people read.
        score: of hypotheses, a reference for each, and the code of their language.
        brief: its title in the line of a finished run; empty: it is not in there.
        is_quick: it is taken at every validation.
        direction: whether ``max`` or ``min`` is best.
    """

    name: str
    title: str
    score: Callable[[Texts, Texts, str], float]
    brief: str = ""
    is_quick: bool = False
    direction: Direction = "max"


def cased_bleu(hypotheses: Texts, references: Texts) -> float:
    """Cased BLEU (Papineni et al. 2002), sacreBLEU's 13a tokenisation (Post 2018).

    Raises:
        ValueError: there are no translations, or their numbers differ.
    """
    return _bleu(hypotheses, references)


def _bleu(hypotheses: Texts, references: Texts, **options: Any) -> float:
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415

    require_pairs(hypotheses, references)
    return BLEU(**options).corpus_score(hypotheses, [references]).score


def chrf(hypotheses: Texts, references: Texts) -> float:
    """chrF2 (Popović 2015).

    Raises:
        ValueError: there are no translations, or their numbers differ.
    """
    from sacrebleu.metrics.chrf import CHRF  # noqa: PLC0415

    require_pairs(hypotheses, references)
    return CHRF().corpus_score(hypotheses, [references]).score


def require_pairs(hypotheses: Texts, references: Texts) -> None:
    """Refuse to score nothing, or what has no reference.

    Raises:
        ValueError: there are no translations, or their numbers differ.
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")


def moses_tokens(sentences: Texts, language: str) -> list[str]:
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
def _tools(language: str) -> tuple[Any, Any]:
    """Made once a language: they read files and compile many expressions."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer  # noqa: PLC0415

    return MosesPunctNormalizer(language), MosesTokenizer(language)


def _moses_bleu(hypotheses: Texts, references: Texts, language: str) -> float:
    """BLEU in Moses's tokens; `force` because they are meant to be split already."""
    split = (moses_tokens(texts, language) for texts in (hypotheses, references))
    return _bleu(*split, tokenize="none", force=True)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("bleu", "BLEU", lambda h, r, _: cased_bleu(h, r), "BLEU", is_quick=True),
        Metric(
            "bleu_lowercase",
            "BLEU, lower-cased",
            lambda h, r, _: _bleu(h, r, lowercase=True),
            "lower-cased",
        ),
        Metric("bleu_moses", "BLEU, lower-cased, Moses", _moses_bleu),
        Metric("chrf", "chrF", lambda h, r, _: chrf(h, r), "chrF", is_quick=True),
    )
}

QUICK = [metric for metric in METRICS.values() if metric.is_quick]

MONITORED: dict[str, tuple[str, Direction]] = {
    "loss": ("validation/loss", "min"),
    **{metric.name: (f"validation/{metric.name}", metric.direction) for metric in QUICK},
}
"""What progress can be seen in: the name that validation logs it under, and what is best."""
