"""The decisions of a search over settings, from the results of their runs.

A setting has run with some seeds; the results of different seeds vary. Three decisions follow from the results:

- Which settings are clearly worse (`clearly_worse`), and get no further seeds. Setting i, with n runs and mean
  m_i, is clearly worse if a setting j, with k runs, has m_j - m_i > t s √(1/n + 1/k). s² is the variance between
  seeds, pooled over all settings with several runs, so that one run of a setting can be enough; t is the quantile of
  Student's distribution at level / ((K - 1) N). This is Bonferroni's correction for K settings, of which any may
  seem the best, and for N seeds, after each of which it is decided again: if the variances are equal, the best
  setting is dropped in at most a share `level` of the searches.
- Which setting gets the next seed (`next_settings`): the one with the best mean among those that are open. The two
  best settings are always open, so that both have all seeds in the end.
- Whether the best setting is clearly best (`verdict`): it is compared with each other setting by Welch's test, which
  `seq2seq compare` uses too, and the maximum of the two-sided p counts. The best of K settings may be compared
  with the second in this way without a correction for K (Gutmann and Maymin 1987; Hung and Fithian 2019); p is
  multiplied by the N - 1 looks after which seeds were added. A setting with one run has the pooled variance.

Results are such that higher is better. benchmarks/racing.py measures how often the decisions are wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, nan

import numpy as np

LEVEL = 0.05


@dataclass(frozen=True)
class Difference:
    """The difference of two means: the first minus the second.

    Attributes:
        mean: The difference.
        interval: Its confidence interval.
        p: Two-sided p-value; NaN where the variance is not known.
    """

    mean: float
    interval: tuple[float, float]
    p: float


@dataclass(frozen=True)
class Verdict:
    """The result of a search.

    Attributes:
        best: Place of the setting with the best mean.
        second: Place of the setting that is hardest to tell from it; None if there is no other.
        difference: The difference of the two, with p and interval corrected for the looks; None without a second.
    """

    best: int
    second: int | None
    difference: Difference | None

    @property
    def is_clear(self) -> bool:
        """Return whether the best setting is better than every other one, at 5 %."""
        return self.difference is not None and self.difference.p < LEVEL


def welch(first: Sequence[float], second: Sequence[float], level: float = LEVEL) -> Difference:
    """Compare the means of two samples by Welch's t-test (1947); p is NaN if one has a single value or none varies."""
    from scipy.stats import ttest_ind

    mean = float(np.mean(first) - np.mean(second))
    if min(len(first), len(second)) < 2 or max(np.ptp(first), np.ptp(second)) == 0:
        return Difference(mean, (nan, nan), nan)
    found = ttest_ind(first, second, equal_var=False)
    low, high = found.confidence_interval(1 - level)
    return Difference(mean, (float(low), float(high)), float(found.pvalue))


def pooled_variance(results: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Return the variance between seeds, pooled over the settings, and its degrees of freedom; NaN, 0 if unknown."""
    freedom = sum(len(each) - 1 for each in results)
    if freedom == 0:
        return nan, 0
    return float(sum(np.var(each) * len(each) for each in results)) / freedom, freedom


def clearly_worse(results: Sequence[Sequence[float]], num_seeds: int, level: float = LEVEL) -> list[bool]:
    """Return for each setting whether another one is clearly better.

    Args:
        results: Results of each setting's runs, at least one each.
        num_seeds: Maximum number of runs of a setting.
        level: Share of searches in which the best setting may be dropped.
    """
    from scipy.stats import t

    variance, freedom = pooled_variance(results)
    if freedom == 0 or len(results) < 2:
        return [False] * len(results)
    means = np.array([np.mean(each) for each in results])
    shares = np.array([1 / len(each) for each in results])
    bound = float(t.isf(level / ((len(results) - 1) * num_seeds), freedom)) * variance**0.5
    gaps = means[None] - means[:, None]  # of the setting in the column over that in the row
    return (gaps > bound * np.sqrt(shares[None] + shares[:, None])).any(axis=1).tolist()


def ranked(results: Sequence[Sequence[float]]) -> list[int]:
    """Return the places of the settings, the best mean first."""
    return sorted(range(len(results)), key=lambda place: (-float(np.mean(results[place])), place))


def next_settings(results: Sequence[Sequence[float]], num_seeds: int, level: float = LEVEL) -> list[int]:
    """Return the places of the settings that are to have another seed, the most wanted first; none: it is decided."""
    worse, order = clearly_worse(results, num_seeds, level), ranked(results)
    return [p for p in order if len(results[p]) < num_seeds and (not worse[p] or p in order[:2])]


def verdict(results: Sequence[Sequence[float]], num_seeds: int) -> Verdict:
    """Compare the best setting with every other one.

    Args:
        results: Results of each setting's runs, at least one each.
        num_seeds: Maximum number of runs of a setting.
    """
    best, *others = ranked(results)
    if not others:
        return Verdict(best, None, None)
    looks = max(num_seeds - 1, 1)
    found = {place: _compared(results, best, place, LEVEL / looks) for place in others}
    second = max(found, key=lambda place: inf if isnan(found[place].p) else found[place].p)
    hardest = found[second]
    return Verdict(best, second, Difference(hardest.mean, hardest.interval, min(1.0, hardest.p * looks)))


def _compared(results: Sequence[Sequence[float]], best: int, other: int, level: float) -> Difference:
    """Compare two settings by Welch's test, or with the pooled variance where one of them has one run."""
    from scipy.stats import t

    found = welch(results[best], results[other], level)
    variance, freedom = pooled_variance(results)
    if min(len(results[best]), len(results[other])) > 1 or not freedom or not variance:
        return found
    error = (variance * (1 / len(results[best]) + 1 / len(results[other]))) ** 0.5
    reach = float(t.isf(level / 2, freedom)) * error
    p = 2 * float(t.sf(abs(found.mean) / error, freedom))
    return Difference(found.mean, (found.mean - reach, found.mean + reach), p)
