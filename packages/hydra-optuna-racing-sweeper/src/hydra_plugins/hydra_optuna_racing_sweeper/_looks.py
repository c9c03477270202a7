"""A test of paired differences that may be looked at after every pair, and continued as long as one likes.

The differences x_1 … x_n of two settings, one a seed, are normal with an unknown variance. Under the hypothesis that
their mean is 0 (or another number, which is first subtracted),

    E_n = (1 + n g)^(-1/2) (V / (V - g S² / (1 + n g)))^(n/2),    S = Σ x, V = Σ x²

is the ratio of two likelihoods of the ratios x_i / x_1, which do not depend on the variance: mean over standard
deviation is normal with mean 0 and variance g in the one, and 0 in the other. So E is a test martingale, and by Ville's
inequality E_n ≥ 1 / α for any n at all happens in at most a share α of the studies in which nothing differs, however often
one looks and whatever decides on the next seed (Lai 1976; Pérez-Ortiz, Lardy, de Heide and Grünwald 2024; Wang and
Ramdas 2025, "Anytime-valid t-tests", theorem 4.6). 1 / E_n is a p-value, and the means that are not rejected are a
confidence sequence. Several changes of one baseline, see `level_of_try` and `e_bh`.

Differences of two settings that are equally good are symmetric, so heavy tails make the test careful;
benchmarks/looks.py measures it. Equal differences show nothing: then the seeds change nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05
EFFECT = 4.0
"""g above. Near 4 the number of seeds changes little: differences of 1 to 3 standard deviations are shown soonest."""


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
    shrunk = 1 + n * EFFECT
    ratio = (variance + squared_mean) / (variance + squared_mean / shrunk)
    return exp(min(n / 2 * log(ratio) - log(shrunk) / 2, 700))


def interval(differences: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Return the means that `e_value` does not reject at a level, at any number of looks."""
    x = np.asarray(differences, dtype=float)
    shrunk = 1 + len(x) * EFFECT
    ratio = (sqrt(shrunk) / level) ** (2 / max(len(x), 1))
    if not _vary(x) or ratio >= shrunk:
        return -inf, inf
    reach = sqrt((ratio - 1) / (1 - ratio / shrunk) * float(x.var()))
    return float(x.mean()) - reach, float(x.mean()) + reach


def judge(differences: Sequence[float], level: float = LEVEL) -> Judgment:
    """Judge the differences of two settings, one for each seed, at a level."""
    x, e = np.asarray(differences, dtype=float), e_value(differences)
    further: int | None = 0
    if e < 1 / level:
        expected = float(x.mean()) ** 2, float(x.var(ddof=1)) if len(x) > 1 else 0.0
        numbers = range(len(x) + 1, len(x) + MOST) if _vary(x) else ()
        further = next((n - len(x) for n in numbers if _e_value(n, *expected) >= 1 / level), None)
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
