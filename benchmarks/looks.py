"""How often a verdict is wrong that is looked at after every seed, and how soon it is right: python -m benchmarks.looks

The tests are those of `judged_seeds` and of `hydra_plugins.hydra_optuna_racing_sweeper`; the runs are simulated. Results of a setting are normal
with standard deviation 1 unless a row says otherwise; in the null rows no setting differs. "today" is the test of a fixed sample,
two-sided at 5 %, which is done after each seed from the second on. It takes less than two minutes; the status says whether
every bound is kept.
"""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from hydra_plugins.hydra_optuna_racing_sweeper import clearly_worse, next_settings, verdict
from judged_seeds import e_bh, e_value, level_of_try

STUDIES, SEEDS, CHANGES, NIGHTS = 2000, 20, 100, 1000
LEVEL = 0.05
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


def p_values(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return p after each seed, by the test of any number of looks and by the t-test, of differences (studies, seeds)."""
    own = np.array([[min(1, 1 / e_value(row[:n])) for n in range(2, x.shape[1] + 1)] for row in x])
    n = np.arange(2, x.shape[1] + 1)
    mean = x.cumsum(1)[:, 1:] / n
    deviation = np.sqrt(np.maximum((x**2).cumsum(1)[:, 1:] / n - mean**2, 0) * n / (n - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        fixed = 2 * t.sf(np.abs(mean) / deviation * np.sqrt(n), n - 1)
    return own, np.where(deviation < 1e-12, 1, fixed)


def differences(draw: np.random.Generator, studies: int) -> NDArray[np.float64]:
    """Return differences of two settings, both normal."""
    return draw.normal(size=(studies, SEEDS)) - draw.normal(size=(studies, SEEDS))


def of(one: Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]) -> Draw:
    """Return a function that draws differences of two settings of one distribution."""
    return lambda draw, studies: one(draw, (studies, SEEDS)) - one(draw, (studies, SEEDS))


def growing(draw: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    """Return results whose standard deviation grows from 1 to 3."""
    return draw.normal(size=size) * np.linspace(1, 3, size[1])


def correlated(draw: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    """Return results with a part of each seed that both settings have; their difference is without it."""
    return draw.normal(size=size) + 3 * np.random.default_rng(1).normal(size=size)


NULLS: dict[str, Draw] = {
    "normal": differences,
    "heavy tails (t with 3 degrees of freedom)": of(lambda draw, size: draw.standard_t(3, size=size)),
    "skewed (exponential)": of(lambda draw, size: draw.exponential(size=size)),
    "10 % of the runs are worse by 10": of(lambda draw, size: draw.normal(size=size) - 10 * (draw.random(size) < 0.1)),
    "ties (0 or 1)": of(lambda draw, size: draw.integers(0, 2, size).astype(float)),
    "noise grows threefold": of(growing),
    "seeds move both settings, by 3": of(correlated),
    "one setting varies 10 times as much": lambda draw, n: draw.normal(size=(n, SEEDS)) - draw.normal(0, 10, (n, SEEDS)),
}  # fmt: skip


def nights() -> dict[str, tuple[float, float]]:
    """Return in which share of nights of changes that change nothing one is kept, and the number that is kept."""
    draw, seeds = np.random.default_rng(2), 5
    kept: dict[str, list[int]] = {"keep if better, one seed": [], "keep if p < 0.05 (t-test of 5 seeds)": [],
                                  "the level is spent (`judge --tries N`)": [], "e-BH at the end (`compare --all`)": []}  # fmt: skip
    for _ in range(NIGHTS):
        x = draw.normal(size=(CHANGES, seeds)) - draw.normal(size=seeds)  # one baseline
        deviation = x.std(axis=1, ddof=1)
        better = x.mean(axis=1) > 0
        p = np.array([min(1, 1 / e_value(row)) for row in x])
        levels = np.array([level_of_try(k) for k in range(1, CHANGES + 1)])
        fixed = 2 * t.sf(np.abs(x.mean(axis=1)) / deviation * seeds**0.5, seeds - 1)
        for name, found in zip(kept, (x[:, 0] > 0, better & (fixed < LEVEL), better & (p <= levels),
                                      better & np.array(e_bh(p.tolist()))), strict=True):  # fmt: skip
            kept[name].append(int(found.sum()))
    return {name: (float(np.mean(np.array(each) > 0)), float(np.mean(each))) for name, each in kept.items()}


def race(results: NDArray[np.float64]) -> tuple[int, bool, bool, int]:
    """Race settings (rows) over seeds; return the best, whether it is clear, whether the first was dropped, and the number of runs."""
    seen, num_seeds = np.full(results.shape, np.nan), results.shape[1]
    seen[:, 0] = results[:, 0]
    while order := next_settings(seen, num_seeds):
        place = order[0]
        seed = int(np.count_nonzero(~np.isnan(seen[place])))
        seen[place, seed] = results[place, seed]
    found = verdict(seen, num_seeds)
    return (
        found.best,
        found.is_clear,
        clearly_worse(seen, num_seeds)[0],
        int(np.count_nonzero(~np.isnan(seen))),
    )


def races(
    count: int, num_seeds: int, better: float, *, shared: float = 0, first: float = 1, searches: int = 200
) -> list[float]:
    """Return the shares of races that say "clearly better", and that drop the first setting, and the mean number of runs."""
    rows = []
    for draw in np.random.default_rng(3).spawn(searches):
        x = draw.normal(size=(count, num_seeds))
        x[0] = better + first * x[0]
        rows.append(race(x + shared * draw.normal(size=num_seeds))[1:])
    return np.mean(np.array(rows, dtype=float), axis=0).tolist()


def main() -> int:
    """Print the tables; the status says whether the bounds are kept."""
    kept = True
    print("| nothing differs, a look after every seed up to 20 | shown | today |\n| --- | --- | --- |")
    for name, draws in NULLS.items():
        own, fixed = (
            (each <= LEVEL).any(axis=1).mean() for each in p_values(draws(np.random.default_rng(1), STUDIES))
        )
        kept &= own <= LEVEL
        print(f"| {name} | {100 * own:.1f} % | {100 * fixed:.1f} % |", flush=True)
    print(
        "\n| 100 changes that change nothing, one baseline | nights with a false keep | kept a night |\n| --- | --- | --- |"
    )
    for name, (share, number) in nights().items():
        kept &= share <= LEVEL or "seed" in name
        print(f"| {name} | {100 * share:.1f} % | {number:.2f} |", flush=True)
    print(
        "\n| better by, in standard deviations of the difference | shown within 8 seeds | in 80 % after | seeds on average | t-test of a fixed sample: in 80 % with |"
    )
    print("| --- | --- | --- | --- | --- |")
    for effect in (1.0, 1.77, 2.36, 3.0):
        own, fixed = p_values(effect + np.random.default_rng(4).normal(size=(STUDIES, SEEDS)))
        found = np.maximum.accumulate(own <= LEVEL, axis=1)
        enough = [int(np.argmax(each.mean(axis=0) >= 0.8)) + 2 if (each.mean(axis=0) >= 0.8).any() else None
                  for each in (found, fixed <= LEVEL)]  # fmt: skip
        seeds = np.where(found[:, -1], found.argmax(axis=1) + 2, SEEDS).mean()
        print(
            f"| {effect} | {100 * found[:, 6].mean():.0f} % | {enough[0]} | {seeds:.1f} | {enough[1]} |",
            flush=True,
        )
    print(
        "\n| race | clearly better | the best one, or a given one of equal ones, is dropped | runs |\n| --- | --- | --- | --- |"
    )
    for name, count, num_seeds, better, options in (
        ("8 equal settings, 5 seeds", 8, 5, 0.0, {}),
        ("8 equal settings, 5 seeds; seeds move all by 3", 8, 5, 0.0, {"shared": 3.0}),
        ("10 settings, 10 seeds, one better by 3", 10, 10, 3.0, {"searches": 40}),
        ("5 settings, 5 seeds, one better by 5", 5, 5, 5.0, {}),
        ("16 settings, 3 seeds, one better by 5", 16, 3, 5.0, {}),
        ("4 settings, 5 seeds, one better by 3.3; seeds move all by 10", 4, 5, 3.3, {"shared": 10.0}),
        ("8 settings, 5 seeds, one better by 3 and varies 10 times as much", 8, 5, 3.0, {"first": 10.0}),
    ):
        clear, dropped, runs = races(count, num_seeds, better, **options)
        kept &= dropped <= LEVEL + 0.02 or "first" in options  # 200 searches
        kept &= better > 0 or clear <= LEVEL
        print(
            f"| {name} | {100 * clear:.0f} % | {100 * dropped:.1f} % | {runs:.1f} of {count * num_seeds} |",
            flush=True,
        )
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
