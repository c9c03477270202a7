"""BLEU (Papineni et al. 2002) by sacreBLEU (Post 2018), with the tokenizer for the language."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.common.progress import warn
from seq2seq.data.languages import base_language, is_unspaced

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

CHARACTERS = {"tokenize": "char"}

NUM_STATISTICS = 10
"""Statistics of a sentence: length, reference length, matched n-grams and n-grams, n = 1 … 4."""


def bleu_metric(language: str, *, lowercase: bool = False, effective_order: bool = False) -> "BLEU":
    """Return sacreBLEU's metric for a language: characters for zh, words for ja and ko, else 13a tokens.

    Characters for other languages without spaces, and if the package for the words is missing, which prints a
    warning once. The signature names the tokenizer.

    Args:
        language: Code of the target language, of any form.
        lowercase: Lower-case the text first.
        effective_order: Use only the n-gram orders that a sentence is long enough for.
    """
    from sacrebleu.metrics.bleu import BLEU

    tokens = _tokens(base_language(language), is_unspaced(language))
    return BLEU(lowercase=lowercase, effective_order=effective_order, **tokens)


@cache
def _tokens(language: str, without_spaces: bool) -> dict[str, Any]:
    """Return the arguments of sacreBLEU's BLEU: the language, or a tokenizer."""
    from sacrebleu.metrics.bleu import BLEU

    told: dict[str, Any] = {"trg_lang": language}
    try:
        chosen = BLEU(**told).tokenizer_signature
    except RuntimeError:  # the words of Japanese and Korean need MeCab
        package = f"sacrebleu[{language}]"
        warn(f"BLEU of {language} counts characters: {package} is missing")
        return CHARACTERS
    return CHARACTERS if without_spaces and chosen == "13a" else told


def cased_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    language: str,
    *,
    further: Sequence[Sequence[str]] = (),
    lowercase: bool = False,
) -> float:
    """Return the corpus BLEU, 0 to 100, cased unless the text is lower-cased.

    `further` are other references of all sentences; a blank one is none.

    Raises:
        ValueError: There are no translations, or their numbers differ.
    """
    require_pairs(hypotheses, references)
    every: list[Any] = [references]  # to sacreBLEU, "" would be a short reference
    every += [[each or None for each in texts] for texts in further]
    return bleu_metric(language, lowercase=lowercase).corpus_score(hypotheses, every).score


def sentence_bleu_score(hypothesis: str, reference: str, language: str) -> float:
    """Return the smoothed BLEU of one sentence, 0 to 100, over the n-gram orders that its length allows."""
    metric = bleu_metric(language, effective_order=True)
    return metric.sentence_score(hypothesis, [reference]).score


def require_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Check that there is one reference for each translation.

    Raises:
        ValueError: There are no translations, or their numbers differ.
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")


def sentence_statistics(hypotheses: Sequence[str], references: Sequence[str], language: str) -> NDArray[Any]:
    """Return the statistics of each sentence (sentences, `NUM_STATISTICS`), as sacreBLEU counts them.

    Raises:
        ValueError: There are none, or their numbers differ.
    """
    require_pairs(hypotheses, references)
    metric = bleu_metric(language, effective_order=True)
    scores = (metric.sentence_score(h, [r]) for h, r in zip(hypotheses, references, strict=True))
    rows = [(each.sys_len, each.ref_len, *each.counts, *each.totals) for each in scores]
    return np.array(rows, dtype=np.float64)


def bleu_of(statistics: NDArray[Any]) -> NDArray[Any]:
    """Return BLEU, 0 to 100, of summed statistics (…, `NUM_STATISTICS`).

    Orders without a matched n-gram are smoothed as in sacreBLEU: the k-th of them counts 1 / 2^k.
    """
    length, reference_length = statistics[..., 0], statistics[..., 1]
    found, total = statistics[..., 2:6], statistics[..., 6:10]
    smoothed = np.where(found == 0, 0.5 ** np.cumsum(found == 0, axis=-1), found)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.exp(np.log(smoothed / total).mean(axis=-1))
        brevity = np.exp(np.minimum(0.0, 1 - reference_length / length))
        scored = 100 * brevity * precision
    is_scored = (total > 0).all(axis=-1) & found.any(axis=-1)
    return np.where(is_scored, scored, 0.0)


def smoothed_sentence_bleu(
    hypothesis: Sequence[Hashable], reference: Sequence[Hashable], *, max_order: int = 4
) -> float:
    """Score one translation from 0 to 1 by BLEU+1 (Lin and Och 2004).

        exp(min(0, 1 - len(reference) / len(hypothesis))) * (prod_n p_n) ^ (1 / k),  n = 1..k

    p_n is the share of the hypothesis's n-grams that the reference holds, each counted at most as often as
    there; for n > 1 one is added to both counts, so that a sentence without a common n-gram has a score.
    k is `max_order`; tokens may be of any kind.
    """
    if not hypothesis:
        return 0.0
    product = 1.0
    for order in range(1, max_order + 1):
        ngrams, added = _ngrams(hypothesis, order), int(order > 1)
        common = (ngrams & _ngrams(reference, order)).total()
        product *= (common + added) / (ngrams.total() + added)
    return math.exp(min(0.0, 1 - len(reference) / len(hypothesis))) * product ** (1 / max_order)


def _ngrams(tokens: Sequence[Hashable], order: int) -> Counter[tuple[Hashable, ...]]:
    return Counter(tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1))
