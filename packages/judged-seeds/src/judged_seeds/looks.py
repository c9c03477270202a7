"""A test of paired differences that may be looked at after every pair, and continued as long as one likes.

The differences x_1 … x_n of two settings, one a seed, are normal with an unknown variance. Under the hypothesis that
their mean is 0 (or another number, which is first subtracted),

    E_n = 1/2 (1 + n g)^(-1/2) (V / (V - g S² / (1 + n g)))^(n/2)  +  1/2 e^(-n d²/2) 1F1(n/2; 1/2; d² S² / 2 V)

with S = Σ x, V = Σ x² and Kummer's function 1F1 is the ratio of two likelihoods of the ratios x_i / x_1, which do not depend
on the variance: in the one, mean over standard deviation is 0, in the other, with probability 1/2 each, it is normal with
mean 0 and variance g, or one of d and -d. So E is a test martingale, and by Ville's inequality E_n ≥ 1 / α for any n at all
happens in at most a share α of the studies in which nothing differs, however often one looks and whatever decides on the next
seed (Lai 1976; Pérez-Ortiz, Lardy, de Heide and Grünwald 2024; Wang and Ramdas 2025, "Anytime-valid t-tests"). 1 / E_n is a
p-value, and the means that are not rejected are a confidence sequence. Several changes of one baseline, see `level_of_try`
and `e_bh`.

Differences of two settings that are equally good are symmetric, so heavy tails make the test careful;
benchmarks/looks.py measures it. Equal differences show nothing: then the seeds change nothing.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

LEVEL = 0.05
VARIANCE, EFFECT = 4.0, 1.5
"""g and d above: d shows differences of 1 to 2 standard deviations soonest, g larger ones, and small ones after many seeds."""


@dataclass(frozen=True)
class Judgment:
    """What is known of a difference after some seeds, at any number of looks.

    Attributes:
        seeds: Number of paired differences.
        mean: Their mean.
        interval: Confidence interval of the mean; infinite where they are too few.
        p: 1 / E, at most 1: in a share p of studies without a difference it is ever so small.
        further: Number of further seeds after which the difference is expected to be shown if mean and standard
            deviation stay; 0 if it is, None where it would take more than `MOST`.
        is_shown: Whether p is at most the level.
    """

    seeds: int
    mean: float
    interval: tuple[float, float]
    p: float
    further: int | None
    is_shown: bool


MOST = 1000
"""Number of seeds from which on none is named that would be needed."""


def e_value(differences: Sequence[float]) -> float:
    """Return E; 1 where there are fewer than two differences, or none differs from another."""
    x = np.asarray(differences, dtype=float)
    return _e_value(len(x), float(x.mean()) ** 2, float(x.var())) if _vary(x) else 1.0


def _vary(x: NDArray[np.float64]) -> bool:
    return len(x) > 1 and bool(np.ptp(x) > 1e-12 * np.abs(x).max())


def _e_value(n: int, squared_mean: float, variance: float) -> float:
    """Return E of n differences from S² / n² and V / n - S² / n²."""
    share = n * squared_mean / (variance + squared_mean)  # S² / V, at most n
    shrunk = 1 + n * VARIANCE
    normal = -log(shrunk) / 2 - n / 2 * log(1 - VARIANCE * share / shrunk)
    # 1F1 is the mean of cosh(d u S / V^(1/2)) over u with the density of chi with n degrees of freedom
    u = np.linspace(0, 2.2 * sqrt(n) + 12, 501)[1:]
    chi, exponent = (n - 1) * np.log(u) - u**2 / 2, EFFECT * sqrt(share) * u
    point = logsumexp(chi + np.logaddexp(exponent, -exponent)) - log(2) - logsumexp(chi) - n * EFFECT**2 / 2
    return exp(min(np.logaddexp(normal, point) - log(2), 700))


def interval(differences: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Return the means that `e_value` does not reject at a level, at any number of looks."""
    x = np.asarray(differences, dtype=float)

    def excess(
        share: float,
    ) -> float:  # of the squared difference to the mean, in the sum of it and the variance
        return _e_value(len(x), share, 1 - share) - 1 / level

    if not _vary(x) or excess(1 - 1e-12) <= 0:
        return -inf, inf
    share = brentq(excess, 0, 1 - 1e-12)
    reach = sqrt(share / (1 - share) * float(x.var()))
    return float(x.mean()) - reach, float(x.mean()) + reach


def judge(differences: Sequence[float], level: float = LEVEL) -> Judgment:
    """Judge the differences of two settings, one for each seed, at a level."""
    x, e = np.asarray(differences, dtype=float), e_value(differences)
    further: int | None = 0
    if e < 1 / level:
        further, expected = None, (float(x.mean()) ** 2, float(x.var(ddof=1)) if len(x) > 1 else 0.0)
        if _vary(x):  # once it is shown, it stays so
            numbers = range(len(x) + 1, len(x) + MOST)
            place = bisect_left(numbers, True, key=lambda n: _e_value(n, *expected) >= 1 / level)
            further = place + 1 if place < len(numbers) else None
    return Judgment(
        len(x), float(x.mean()), interval(differences, level), min(1.0, 1 / e), further, e >= 1 / level
    )


def level_of_try(number: int, level: float = LEVEL) -> float:
    """Return the level of the `number`-th change that is tried on a baseline, from 1 on: in all, they spend `level`."""
    return level / (number * (number + 1))


def e_bh(p: Sequence[float], tries: int | None = None, level: float = LEVEL) -> list[bool]:
    """Return which of several differences are shown: of those, a share `level` is expected to be wrong at most.

    Benjamini and Hochberg's procedure on e-values (Wang and Ramdas 2022), which holds for tests that depend on one another,
    as they do with one baseline.

    Args:
        p: 1 / E of each.
        tries: How many were tried in all, with those that have no result.
        level: The share.
    """
    allowed = level / max(len(p) if tries is None else tries, 1)
    count = max((k for k, each in enumerate(sorted(p), 1) if each <= k * allowed), default=0)
    return [each <= count * allowed for each in p]


def holm(p: Sequence[float]) -> list[float]:
    """Return m corrected p-values (Holm 1979): the k-th smallest times m - k + 1, made non-decreasing."""
    order = np.argsort(p)
    rising = np.maximum.accumulate(np.sort(p) * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(rising, 1)
    return corrected.tolist()


def paired(
    first: Sequence[tuple[object, float]], second: Sequence[tuple[object, float]]
) -> list[tuple[float, float]]:
    """Return the results of two settings in pairs: by the seeds that both have, in order if they have none in common.

    Seeds that are not shared are independent, so that any pairs of them are; pairs by order hold for unequal variances.

    Args:
        first: Seed and result of each run of a setting.
        second: Those of the other one.
    """
    known = dict(second)
    shared = [(value, known[seed]) for seed, value in first if seed is not None and seed in known]
    return shared or [(a, b) for (_, a), (_, b) in zip(first, second, strict=False)]
