"""Is one setting better than another, or was it luck?

A setting is as good as what it scores in the mean over seeds and over test sentences. Two of them,
b with m seeds and c with k, have translated the same sentences; d is the mean BLEU of c's seeds
less that of b's. Were they equally good, d would still vary, for two kinds of luck:

    Var d = S + (U_b + T_b) / m + (U_c + T_c) / k

S is the luck with the sentences that the seeds of a setting share, U what each seed has of its own,
T how seeds differ in their quality on all sentences there are. Paired bootstrap (Koehn 2004), with
sentences drawn once for all seeds, gives d* of variance S + U_b / m + U_c / k: without T, it takes
a lucky seed for a better setting. The variance s² of the scores of seeds estimates U + T (Welch
1947): without S, it takes seeds that agree for certain ones. So V, the estimate of Var d, has a
part of each, where U is the mean over the draws of the variance, between seeds, of a draw's change
to their scores:

    S = max(0, Var d* - U_b / m - U_c / k)
    V = S + s_b² / m + s_c² / k
    e* = (d* - mean d*) √(V / Var d*) √(v / χ²*)
    p = (1 + #{|e*| ≥ |d|}) / (number of draws + 1)

The first root gives the draws the variance V. The second, with draws of χ² of v degrees of freedom,
gives them the tails of Student's t, because V is uncertain where seeds are few: after Satterthwaite
(1946) v = V² / (s_b⁴ / (m² (m - 1)) + s_c⁴ / (k² (k - 1))), S being known well. Where a setting has
one seed nothing is known of T: e* = d* - mean d*, and p is of these models, not of the setting.

Two searches of the same models are paired: the differences of the m models are one sample, in which
how good the models are cancels, Var d = S + (U + T) / m of these differences.
`make calibration` measures how often p < 0.05 where nothing differs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from seq2seq.evaluation.bleu_statistics import bleu_of, sentence_statistics

DRAWS_AT_LEVEL = 20
"""Draws that a p at the level counts, so that it is not a matter of luck itself."""

LEAST_DRAWS = 1000
NOTHING = 1e-9
"""A difference of BLEU that is rounding."""

AT_ONCE = 1 << 18
"""Sentences that are drawn at a time: what a processor's cache holds."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two settings.

    Attributes:
        difference: mean BLEU of the second less that of the first.
        p: how likely luck alone makes so great a difference, either way.
        interval: where the difference lies but for a share `level` of luck.
        knows_seeds: whether both have several seeds; else p is of the two models only.
    """

    difference: float
    p: float
    interval: tuple[float, float]
    knows_seeds: bool

    def words(self, level: float) -> str:
        """What to believe."""
        verdict = "significant" if self.p < level else "not significant"
        p = f"p = {self.p:.3f}" if self.p >= 0.0005 else "p < 0.001"
        return f"{verdict} ({p}{'' if self.knows_seeds else ', one seed'})"


def statistics_of(translations: Sequence[Sequence[str]], references: Sequence[str], language: str) -> NDArray:
    """The counts that `compare` wants of a setting, (seeds, sentences, `NUM_STATISTICS`).

    Args:
        translations: of the test sentences, for each seed.
        references: of the test sentences.
        language: code of their language.

    Raises:
        ValueError: there are no seeds or sentences, or they differ in number.
    """
    return np.stack([sentence_statistics(each, references, language) for each in translations])


Score = Callable[[NDArray], NDArray]
"""What sums of the counts of sentences, (…, counts), are worth, (…)."""


def compare(
    first: NDArray, second: NDArray, level: float, *, score: Score = bleu_of, paired: bool = False
) -> Comparison:
    """Compare two settings by BLEU, see above, or by another score of sums over sentences.

    Of a number that is known for each seed only, not for each sentence, give one sentence: p is
    then that of Welch's test.

    Args:
        first: of one setting, as `statistics_of` gives it.
        second: of the other, of the same sentences.
        level: the p that will be called significant; the smaller, the more is drawn.
        score: of sums.
        paired: whether both are of the same models in the same order.

    Raises:
        ValueError: their sentences differ in number; paired, their models do.
    """
    generator = np.random.default_rng(1)
    num_draws = max(LEAST_DRAWS, ceil(DRAWS_AT_LEVEL / level))
    drawn = _drawn_scores(np.concatenate([first, second]), num_draws, generator, score)
    scores = [score(second.sum(axis=1)), -score(first.sum(axis=1))]
    parts = [drawn[:, len(first) :], -drawn[:, : len(first)]]
    if paired:
        scores, parts = [scores[0] + scores[1]], [parts[0] + parts[1]]
    difference = float(sum(each.mean() for each in scores))
    luck = np.sum([part.mean(axis=1) for part in parts], axis=0)
    luck -= luck.mean()
    knows_seeds = min(len(first), len(second)) > 1
    if knows_seeds:
        shared = max(0.0, float(luck.var()) - sum(_own_luck(part) for part in parts))
        luck = _with_luck_of_seeds(luck, shared, scores, generator)
    as_great = np.count_nonzero(np.abs(luck) >= abs(difference) - NOTHING)
    low, high = (difference - np.quantile(luck, [1 - level / 2, level / 2])).tolist()
    return Comparison(difference, (1 + int(as_great)) / (num_draws + 1), (low, high), knows_seeds)


def interval_of(statistics: NDArray, level: float) -> tuple[float, float]:
    """Where the BLEU of one model lies but for a share `level` of other such test texts.

    Quantiles of BLEU on sentences that are drawn with replacement (Koehn 2004), by a fixed seed.
    Nothing is in it of how other seeds of the same training would do.

    Args:
        statistics: of the sentences, as `sentence_statistics` gives them.
        level: 0.05 for 95 of a hundred texts.
    """
    drawn = _drawn_scores(statistics[None], LEAST_DRAWS, np.random.default_rng(1), bleu_of)
    low, high = np.quantile(drawn, [level / 2, 1 - level / 2]).tolist()
    return low, high


def _drawn_scores(statistics: NDArray, count: int, generator: np.random.Generator, score: Score) -> NDArray:
    """The score of each model, (`count`, models), on sentences that are drawn with replacement."""
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


def _own_luck(drawn: NDArray) -> float:
    """U / m: variance that the own luck of the m seeds gives their mean, of scores (draws, m)."""
    return float((drawn - drawn.mean(axis=0)).var(axis=1, ddof=1).mean() / drawn.shape[1])


def _with_luck_of_seeds(
    luck: NDArray, shared: float, scores: Sequence[NDArray], generator: np.random.Generator
) -> NDArray:
    """Draws of e*, from those of d* about their mean, S, and the scores of the seeds."""
    variances = [float(each.var(ddof=1)) / len(each) for each in scores]
    uncertain = sum(v**2 / (len(each) - 1) for v, each in zip(variances, scores, strict=True))
    variance = shared + sum(variances)
    if uncertain < NOTHING**4:
        return luck
    freedom = variance**2 / uncertain
    tails = np.sqrt(freedom / generator.chisquare(freedom, size=len(luck)))
    if luck.std() < NOTHING:  # all sentences say the same
        luck = generator.standard_normal(len(luck))
    return luck / luck.std() * variance**0.5 * tails
