"""BLEU from statistics of single sentences, which can be summed over any subset."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seq2seq.evaluation.bleu import bleu_metric, require_pairs

NUM_STATISTICS = 10
"""Statistics of a sentence: length, reference length, matched n-grams and n-grams, n = 1 … 4."""


def sentence_statistics(hypotheses: Sequence[str], references: Sequence[str], language: str) -> NDArray:
    """Return the statistics of each sentence (sentences, `NUM_STATISTICS`), as sacreBLEU counts them.

    Args:
        hypotheses: The translations.
        references: One reference for each.
        language: Code of their language, see `bleu_metric`.

    Raises:
        ValueError: There are none, or their numbers differ.
    """
    require_pairs(hypotheses, references)
    metric = bleu_metric(language, effective_order=True)
    scores = (metric.sentence_score(h, [r]) for h, r in zip(hypotheses, references, strict=True))
    rows = [(each.sys_len, each.ref_len, *each.counts, *each.totals) for each in scores]
    return np.array(rows, dtype=np.float64)


def bleu_of(statistics: NDArray) -> NDArray:
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
