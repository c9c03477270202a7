"""The decisions of a search over settings, from the results of their runs.

A setting has run with some seeds, the same ones in the same order as the others. A result is

    setting + seed + e,    e normal with variance σ²

and settings and seeds are fitted by least squares, so that what a seed changes for all settings alike is not taken for
chance. Setting i is clearly worse if a setting j has

    m_j - m_i > t s √v

where m are the fitted settings, σ² v is the variance of their difference, s² estimates σ² from what the fit leaves in all
runs, so that one run of a setting can be enough, and t is the quantile of Student's distribution at level / ((K - 1) N): Bonferroni's
correction for K settings, of which any may seem the best, and for N seeds, after each of which it is decided again. If the
variances are equal, the best setting is dropped in at most a share `level` of the searches, however often one looks; one that
varies ten times as much as the others is dropped more often. benchmarks/looks.py measures both.

All else follows: `next_settings` gives the next seed to the best of the settings that are not clearly worse, and `verdict` says
that a setting is the best if all others are clearly worse. The two best always have all seeds in the end.

Results are such that higher is better; NaN where a setting has no run with a seed. Every setting has the first seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05
NO_VARIATION = 1e-12
"""Standard deviation of what the fit leaves, as a share of the largest result, below which it is rounding."""


@dataclass(frozen=True)
class Verdict:
    """The result of a search.

    Attributes:
        best: Place of the setting with the best mean.
        second: Place of the setting that is hardest to tell from it; None if there is no other.
        difference: By how much it is worse.
        p: In at most this share of searches would it, or another, be shown worse by chance; NaN where the variance is not known.
    """

    best: int
    second: int | None = None
    difference: float = nan
    p: float = nan

    @property
    def is_clear(self) -> bool:
        """Return whether every other setting is clearly worse, at 5 %."""
        return self.p < LEVEL


def p_of_worse(
    results: Sequence[Sequence[float]], num_seeds: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the p-value of each setting's being worse than another one, corrected, and by how much each (row) is worse.

    Args:
        results: Results of each setting (a row) with each seed (a column).
        num_seeds: Maximum number of runs of a setting.
    """
    from scipy.stats import t

    table = np.asarray(results, dtype=float)
    count = len(table)
    setting, seed = np.nonzero(~np.isnan(table))
    values = table[setting, seed]
    design = np.hstack([np.eye(count)[setting], np.eye(table.shape[1])[seed]])
    inverse = np.linalg.pinv(design.T @ design, hermitian=True)
    effects = inverse @ design.T @ values
    left = values - design @ effects
    freedom = len(values) - round(float(np.trace(inverse @ design.T @ design)))
    gaps = effects[None, :count] - effects[:count, None]
    if count < 2 or freedom < 1 or (left @ left / freedom) ** 0.5 <= NO_VARIATION * np.abs(values).max():
        return np.full(count, nan), gaps
    own = np.diag(inverse)[:count]
    errors = np.sqrt(
        (own[:, None] + own - 2 * inverse[:count, :count]) * (left @ left) / freedom + np.eye(count)
    )
    p = t.sf(gaps / errors, freedom) + np.eye(count)  # none is worse than itself
    return np.minimum(1, p.min(axis=1) * (count - 1) * num_seeds), gaps


def clearly_worse(results: Sequence[Sequence[float]], num_seeds: int, level: float = LEVEL) -> list[bool]:
    """Return for each setting whether another one is clearly better, at a level."""
    return (p_of_worse(results, num_seeds)[0] < level).tolist()


def ranked(results: Sequence[Sequence[float]]) -> list[int]:
    """Return the places of the settings, the best mean first."""
    means = np.nanmean(np.asarray(results, dtype=float), axis=1)
    return np.argsort(-means, kind="stable").tolist()


def next_settings(results: Sequence[Sequence[float]], num_seeds: int, level: float = LEVEL) -> list[int]:
    """Return the places of the settings that are to have another seed, the most wanted first; none: it is decided."""
    worse, order = clearly_worse(results, num_seeds, level), ranked(results)
    runs = np.count_nonzero(~np.isnan(np.asarray(results, dtype=float)), axis=1)
    return [p for p in order if runs[p] < num_seeds and (not worse[p] or p in order[:2])]


def verdict(results: Sequence[Sequence[float]], num_seeds: int) -> Verdict:
    """Return the best setting, and how sure the race is of it."""
    best, *others = ranked(results)
    if not others:
        return Verdict(best)
    p, gaps = p_of_worse(results, num_seeds)
    second = max(others, key=lambda place: p[place]) if not np.isnan(p).any() else others[0]
    return Verdict(best, second, float(gaps[second, best]), float(p[second]))
