"""Scores of translations against references.

Your own metrics are named by `_target_` in ``module.metrics``, see `own_scores`. Their attribute `higher_is_better`,
True or False as in torchmetrics, says which values are better.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, Protocol, get_args

from seq2seq.common.errors import InputError
from seq2seq.data.languages import base_language, is_unspaced
from seq2seq.evaluation.bleu import bleu_metric, cased_bleu, require_pairs
from seq2seq.evaluation.own_metrics import own_scores

Texts = Sequence[str]
Direction = Literal["min", "max"]


class Scorer(Protocol):
    """A corpus score of detokenized text."""

    def __call__(self, hypotheses: Texts, references: Texts, language: str, /) -> float:
        """Score translations against one reference each; `language` is the code of their language."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of translations, or of the model.

    Attributes:
        title: Title in tables.
        score: Function of translations and references; None for metrics of the model, such as the loss.
        direction: ``max`` or ``min``, whichever is better.
        is_quick: Compute it at every validation.
        needs: What the metric requires: ``spaces`` between words, gold ``alignments``.
        logged: Name in the logs of a metric of the model; empty: ``val/`` and the name of the metric.
    """

    title: str
    score: Scorer | None
    direction: Direction = "max"
    is_quick: bool = False
    needs: Literal["", "spaces", "alignments"] = ""
    logged: str = ""

    def __post_init__(self) -> None:
        if self.direction not in get_args(Direction):
            raise ValueError(f"the direction of {self.title} is {self.direction!r}, not min or max")
        if self.logged and self.score is not None:
            raise ValueError(f"{self.title} is logged by its own name: leave out {self.logged!r}")


def _chrf(hypotheses: Texts, references: Texts, _: str) -> float:
    """Return chrF2 (Popović 2015), the same for all languages."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF().corpus_score(hypotheses, [references]).score


def _ter(hypotheses: Texts, references: Texts, _: str) -> float:
    """Return TER (Snover et al. 2006) of lower-cased words between spaces, the default of sacreBLEU.

    Edits, including shifts of phrases, per hundred words of the references.
    """
    from sacrebleu.metrics.ter import TER

    return TER().corpus_score(hypotheses, [references]).score


def _surplus(texts: Texts, others: Texts, language: str, *, least: int) -> float:
    """Return the percentage of BLEU's tokens beyond their count in the other text, and beyond `least`."""
    split = bleu_metric(language).tokenizer
    counts = [[Counter(split(text).split()) for text in side] for side in (texts, others)]
    found = sum(
        max(0, count - max(other[token], least))
        for own, other in zip(*counts, strict=True)
        for token, count in own.items()
    )
    return 100 * found / max(sum(own.total() for own in counts[0]), 1)


def _exact_matches(hypotheses: Texts, references: Texts, _: str) -> float:
    """Return the percentage of translations that equal the reference."""
    return 100 * sum(map(str.__eq__, hypotheses, references)) / len(references)


def _moses_bleu(hypotheses: Texts, references: Texts, language: str, *, split_hyphens: bool) -> float:
    from sacrebleu.metrics.bleu import BLEU

    scorer = BLEU(tokenize="none", force=True)  # force: the tokens are meant to be split already
    hypotheses, references = (
        moses_tokens(texts, language, split_hyphens=split_hyphens) for texts in (hypotheses, references)
    )
    return scorer.corpus_score(hypotheses, [references]).score


def moses_tokens(sentences: Texts, language: str, *, split_hyphens: bool) -> list[str]:
    """Return lower-cased Moses tokens, joined by spaces, as in most published results on Multi30k and IWSLT.

    Punctuation is normalized as nmtpytorch prepares Multi30k. Languages without Moses rules use those of
    English.
    With `split_hyphens`, hyphens between words are tokens: nmtpytorch trains on such tokens, and joins them before
    scoring.
    """
    normalize, tokenize = _tools(base_language(language))
    return [
        tokenize.tokenize(
            normalize.normalize(sentence.lower()),
            aggressive_dash_splits=split_hyphens,
            escape=False,
            return_str=True,
        )
        for sentence in sentences
    ]


@cache
def _tools(language: str) -> tuple[Any, Any]:
    """Return the normalizer and tokenizer of a language; they are slow to build."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    return MosesPunctNormalizer(language), MosesTokenizer(language)


METRICS: dict[str, Metric] = {
    "loss": Metric("loss", None, "min", is_quick=True),
    "perplexity": Metric("perplexity", None, "min", is_quick=True),
    "token_accuracy": Metric("token accuracy", None, is_quick=True),
    "aer": Metric("AER", None, "min", is_quick=True, needs="alignments", logged="val_alignment/aer"),
    "bleu": Metric("BLEU", cased_bleu, is_quick=True),
    "bleu_lowercase": Metric("BLEU, lower-cased", partial(cased_bleu, lowercase=True)),
    "bleu_moses": Metric(
        "BLEU, lower-cased, Moses", partial(_moses_bleu, split_hyphens=True), needs="spaces"
    ),
    "bleu_moses_whole": Metric(
        "  its hyphens not split", partial(_moses_bleu, split_hyphens=False), needs="spaces"
    ),
    "chrf": Metric("chrF", _chrf, is_quick=True),
    "ter": Metric("TER", _ter, "min", needs="spaces"),
    "repetition": Metric("repeated words", partial(_surplus, least=1), "min"),
    "omission": Metric(
        "omitted words", lambda found, wanted, language: _surplus(wanted, found, language, least=0), "min"
    ),
    "exact_match": Metric("exact match", _exact_matches, is_quick=True),
}
"""All metrics by name; scores are 0 to 100, but `ter` more if there are more edits than words."""


def metric_of(metrics: Mapping[str, Any], name: str) -> float:
    """Return a metric such as ``val/bleu``, of greedy search; ``val/beam/bleu`` of beam search."""
    split, _, rest = name.partition("/")
    search, _, score = rest.rpartition("/")
    found: Any = metrics
    for key in (split, search or "greedy", score):
        found = found.get(key) if isinstance(found, Mapping) else None
    if found is None:
        raise InputError(f"metric={name}: there is no such score; write val/bleu or test/beam/chrf")
    return found


def named_by(score: str, metrics: Iterable[str]) -> str | None:
    """Return the metric whose score or part of a score a name is; None if it is none of them."""
    return max(
        (name for name in metrics if score == name or score.startswith(f"{name}_")), key=len, default=None
    )


def direction_of(name: str, own: Mapping[str, Any] | None = None) -> Direction | None:
    """Return which values of a logged metric are better; None if that is not known.

    The name is such as ``val/bleu``, ``val/beam/ter``, ``val/bleu_en-de`` or ``val_alignment/precision``; `own` are
    your metrics by name, which may declare `higher_is_better`.

    Raises:
        InputError: What a metric declares is neither True nor False.
    """
    split, _, score = name.rpartition("/")
    ours = _direction_of_ours(split, score)
    metric = named_by(score, own or ()) if split != "val_alignment" else None
    if metric is None:
        return ours
    declared = _declared(metric, (own or {})[metric])
    # token_accuracy may be ours, or the part `accuracy` of the user's metric `token`
    return declared if metric == score or ours in (None, declared) else None


def _direction_of_ours(split: str, score: str) -> Direction | None:
    """Return which values of a metric of this program are better."""
    if split == "val_alignment":
        return "min" if score == "aer" else "max" if score in ("precision", "recall") else None
    if split not in ("train", "val", "val/greedy", "val/beam", "test", "test/greedy", "test/beam"):
        return None
    if re.fullmatch(r"bleu_[^-]+-[^-]+", score):  # of a pair of languages
        return "max"
    return METRICS[score].direction if score in METRICS else None


def _declared(name: str, metric: Any) -> Direction | None:
    """Return what the class or function of a user's metric declares."""
    declared = getattr(metric, "higher_is_better", None)
    declared = getattr(getattr(metric, "func", None), "higher_is_better", declared)  # of a partial
    if declared is None:
        return None
    if declared not in (True, False):  # such as a property, which an object has, not its class
        raise InputError(
            f"module.metrics.{name}: higher_is_better is {declared!r:.60}; write True or False, as an attribute of the "
            "class or function"
        )
    return "max" if declared else "min"


def places_by(codes: Texts) -> dict[str, list[int]]:
    """Return the places of the sentences of each code, such as that of a pair of languages."""
    return {code: [place for place, each in enumerate(codes) if each == code] for code in sorted({*codes})}


def scores_by_languages(
    hypotheses: Texts, references: Texts, languages: Texts, *, sources: Texts = (), **options: Any
) -> dict[str, float]:
    """Return the means over pairs of languages of the scores that all of them have, and BLEU of each, such as ``bleu_en-de``.

    A pair's scores are those of its target language, see `scores_of`, which takes the other `options`.
    """
    found = {}
    for name, places in places_by(languages).items():
        texts, others, given = (
            [side[place] for place in places if side] for side in (hypotheses, references, sources)
        )
        found[name] = scores_of(texts, others, name.rpartition("-")[2], sources=given, **options)
    shared = [key for key in next(iter(found.values())) if all(key in each for each in found.values())]
    means = {key: sum(each[key] for each in found.values()) / len(found) for key in shared}
    return means | {f"bleu_{name}": each["bleu"] for name, each in found.items()}


def scores_of(
    hypotheses: Texts,
    references: Texts,
    language: str,
    *,
    only_quick: bool = False,
    others: Mapping[str, Any] | None = None,
    sources: Texts = (),
    languages: Texts = (),
) -> dict[str, float]:
    """Compute the scores of translations that are defined for their language.

    `only_quick`: those of every validation. `others` are your own by name, see `own_scores`, which may need
    `sources`. If `languages` name the pair of each sentence, see `scores_by_languages`.

    Returns:
        Scores by name.

    Raises:
        ValueError: There are no translations, or the numbers of translations and references differ.
        InputError: One of `others` returns no number.
    """
    require_pairs(hypotheses, references)
    if any(languages):
        options: dict[str, Any] = {"only_quick": only_quick, "others": others, "sources": sources}
        return scores_by_languages(hypotheses, references, languages, **options)
    is_spaced = not is_unspaced(language)
    scorers = {
        name: each.score
        for name, each in METRICS.items()
        if each.score is not None
        and (each.is_quick or not only_quick)
        and (is_spaced or each.needs != "spaces")
    }
    scores = {name: float(score(hypotheses, references, language)) for name, score in scorers.items()}
    return scores | (own_scores(others, hypotheses, references, language, sources) if others else {})
