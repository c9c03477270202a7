"""Test whether one setting is better than another, over test sentences and over seeds.

The quality of a setting is its mean score over seeds and over test sentences. Two settings, b with m seeds
and c with k, have translated the same sentences; d is the mean score of c minus that of b. If they are equally
good, d still varies, for two reasons:

    Var d = S + (U_b + T_b) / m + (U_c + T_c) / k

S is the variance due to the sentences that is shared by the seeds of a setting, U the part of it that is
specific to a seed, T the variance of the quality of seeds on all sentences. Paired bootstrap (Koehn 2004), with
sentences drawn once for all seeds, gives d* with variance S + U_b / m + U_c / k; it ignores T, the variance
between seeds. The variance s² of the scores of seeds estimates U + T (Welch 1947); it ignores S. So V, the
estimate of Var d, combines both. U is the mean over the draws of the variance, between seeds, of the change
of their scores by a draw:

    S = max(0, Var d* - U_b / m - U_c / k)
    V = S + s_b² / m + s_c² / k
    e* = (d* - mean d*) √(V / Var d*) √(v / χ²*)
    p = (1 + #{|e*| ≥ |d|}) / (number of draws + 1)

The first root scales the draws to the variance V. The second, with draws of χ² with v degrees of freedom,
gives them the tails of Student's t, because V is uncertain with few seeds: by Satterthwaite (1946)
v = V² / (s_b⁴ / (m² (m - 1)) + s_c⁴ / (k² (k - 1))), where S counts as known. If a setting has one seed, T is
unknown: then e* = d* - mean d*, and p is about these models, not about the setting.

Two searches of the same models are paired: the differences of the m models are one sample, in which the
quality of the models cancels, Var d = S + (U + T) / m of these differences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAWS_AT_LEVEL = 20
"""Minimum number of draws beyond the level, so that p itself is precise."""

LEAST_DRAWS = 1000
NOTHING = 1e-9
"""Differences below this are rounding."""

AT_ONCE = 1 << 18
"""Number of sentences drawn at a time, which fits into a processor's cache."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing two settings.

    Attributes:
        difference: Mean score of the second minus that of the first.
        p: Two-sided p-value of the difference.
        interval: Confidence interval of the difference at 1 - `level`.
        knows_seeds: True if both settings have several seeds; else p is about the two models only.
    """

    difference: float
    p: float
    interval: tuple[float, float]
    knows_seeds: bool


Score = Callable[[NDArray[Any]], NDArray[Any]]
"""A function from summed statistics of sentences, (…, statistics), to scores (…)."""


def compare(
    first: NDArray[Any], second: NDArray[Any], level: float, *, score: Score, paired: bool = False
) -> Comparison:
    """Compare two settings by a score of sums over sentences, such as BLEU.

    The method is described at the top of this module. For a number per seed instead of per sentence, give one
    sentence: p is then that of Welch's test.

    Args:
        first: Statistics of one setting (seeds, sentences, statistics), which are summed over the sentences.
        second: Statistics of the other setting on the same sentences.
        level: The significance level; the smaller, the more samples are drawn.
        score: Maps sums of statistics (…, statistics) to scores (…).
        paired: True if both are of the same models in the same order.

    Raises:
        ValueError: The numbers of sentences differ, or with `paired` the numbers of models.
    """
    generator = np.random.default_rng(1)
    num_draws = max(LEAST_DRAWS, ceil(DRAWS_AT_LEVEL / level))
    drawn = _drawn_scores(np.concatenate([first, second]), num_draws, generator, score)
    scores = [score(second.sum(axis=1)), -score(first.sum(axis=1))]
    parts = [drawn[:, len(first) :], -drawn[:, : len(first)]]
    if paired:
        scores, parts = [scores[0] + scores[1]], [parts[0] + parts[1]]
    difference = float(sum(each.mean() for each in scores))
    deviations = np.sum([part.mean(axis=1) for part in parts], axis=0)
    deviations -= deviations.mean()
    knows_seeds = min(len(first), len(second)) > 1
    if knows_seeds:
        shared = max(0.0, float(deviations.var()) - sum(_seed_variance(part) for part in parts))
        deviations = _scaled_for_seeds(deviations, shared, scores, generator)
    as_great = np.count_nonzero(np.abs(deviations) >= abs(difference) - NOTHING)
    low, high = (difference - np.quantile(deviations, [1 - level / 2, level / 2])).tolist()
    return Comparison(difference, (1 + int(as_great)) / (num_draws + 1), (low, high), knows_seeds)


def interval_of(statistics: NDArray[Any], level: float, score: Score) -> tuple[float, float]:
    """Return the bootstrap confidence interval of the score of one model.

    Quantiles of the score on sentences drawn with replacement (Koehn 2004), with a fixed seed. The interval does not
    include the variation between seeds of the training.
    The level of a 95 % interval is 0.05.
    """
    drawn = _drawn_scores(statistics[None], LEAST_DRAWS, np.random.default_rng(1), score)
    low, high = np.quantile(drawn, [level / 2, 1 - level / 2]).tolist()
    return low, high


def _drawn_scores(
    statistics: NDArray[Any], count: int, generator: np.random.Generator, score: Score
) -> NDArray[Any]:
    """Return the scores (`count`, models) on sentences drawn with replacement."""
    num_models, size, _ = statistics.shape
    by_sentence = statistics.transpose(1, 0, 2).reshape(size, -1)
    scores = []
    for first in range(0, count, max(1, AT_ONCE // size)):
        num_rows = min(count - first, max(1, AT_ONCE // size))
        drawn = generator.integers(size, size=(num_rows, size))
        drawn += size * np.arange(num_rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=num_rows * size).reshape(num_rows, size)
        sums = times.astype(np.float64) @ by_sentence
        scores.append(score(sums.reshape(num_rows, num_models, -1)))
    return np.concatenate(scores)


def _seed_variance(drawn: NDArray[Any]) -> float:
    """Return U / m of scores (draws, m): the seed-specific part of the variance of their mean."""
    return float((drawn - drawn.mean(axis=0)).var(axis=1, ddof=1).mean() / drawn.shape[1])


def _scaled_for_seeds(
    deviations: NDArray[Any], shared: float, scores: Sequence[NDArray[Any]], generator: np.random.Generator
) -> NDArray[Any]:
    """Return the draws of e*, from the centered draws of d*, S, and the scores of the seeds."""
    variances = [float(each.var(ddof=1)) / len(each) for each in scores]
    uncertain = sum(v**2 / (len(each) - 1) for v, each in zip(variances, scores, strict=True))
    variance = shared + sum(variances)
    if uncertain < NOTHING**4:
        return deviations
    freedom = variance**2 / uncertain
    tails = np.sqrt(freedom / generator.chisquare(freedom, size=len(deviations)))
    if deviations.std() < NOTHING:  # all sentences have the same statistics
        deviations = generator.standard_normal(len(deviations))
    return deviations / deviations.std() * variance**0.5 * tails
