"""How often a search over settings finds the best one, and how often it is wrong: python benchmarks/racing.py

The decisions are those of the sweeper (`hydra_plugins.hydra_optuna_racing_sweeper`, Optuna's median pruner by `Search.judges`' rule: the
first run of each setting); the runs are simulated. A run of a setting has the result quality + deviation · z with a
standard normal z. It reports result - 4 e^(-step) + 0.5 z' at steps 1 to 6, and crashes with a probability; a setting
with a crashed or pruned run is out. Qualities are 0 in the null simulations, in which "clearly best" is wrong, and
normal with a spread otherwise, in units of the deviation between seeds.
"""

import argparse
import sys
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import optuna

from hydra_plugins.hydra_optuna_racing_sweeper import next_settings, verdict

STEPS = 6


@dataclass(frozen=True)
class Outcome:
    """What a simulated search came to.

    Attributes:
        best: The setting that it found; None if all are out.
        clear: Whether it called it clearly best.
        runs: Number of runs, with those that were pruned or crashed.
        steps: Steps that were trained, in runs.
    """

    best: int | None
    clear: bool
    runs: int
    steps: float


def search(
    generator: np.random.Generator, qualities: np.ndarray, num_seeds: int, *, deviations: np.ndarray | float = 1.0,
    crash: float = 0.0, prunes: bool = False, max_runs: int | None = None,
) -> Outcome:  # fmt: skip
    """Search among settings as the sweeper does."""
    deviations = np.broadcast_to(deviations, qualities.shape)
    pruner = optuna.pruners.MedianPruner() if prunes else optuna.pruners.NopPruner()
    firsts = optuna.create_study(direction="maximize", pruner=pruner)
    results: dict[int, list[float]] = {}
    runs, steps = 0, 0.0

    def run(setting: int) -> float | None:
        return (
            None
            if generator.random() < crash
            else qualities[setting] + deviations[setting] * generator.normal()
        )

    for setting in generator.permutation(len(qualities)).tolist():
        runs += 1
        result, trial, pruned = run(setting), firsts.ask(), False
        if result is None:
            firsts.tell(trial, state=optuna.trial.TrialState.FAIL)
            steps += generator.random()
            continue
        for step in range(1, STEPS + 1):
            trial.report(result - 4 * np.exp(-step) + 0.5 * generator.normal(), step)
            pruned = trial.should_prune()
            if pruned:
                break
        steps += step / STEPS
        if pruned:
            firsts.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            firsts.tell(trial, result)
            results[setting] = [result]

    def table() -> list[list[float]]:
        return [each + [np.nan] * (num_seeds - len(each)) for each in results.values()]

    while results:
        order = next_settings(table(), num_seeds)
        if not order or (max_runs is not None and runs >= max_runs):
            break
        setting = [*results][order[0]]
        runs, steps, result = runs + 1, steps + 1, run(setting)
        if result is None:
            del results[setting]
        else:
            results[setting].append(result)
    if not results:
        return Outcome(None, False, runs, steps)
    found = verdict(table(), num_seeds)
    return Outcome([*results][found.best], found.is_clear, runs, steps)


def wrong_share(trials: int, count: int, num_seeds: int, **options) -> float:
    """Return the share of null simulations that call a setting clearly best."""
    generators = np.random.default_rng(1).spawn(trials)
    return fmean(search(each, np.zeros(count), num_seeds, **options).clear for each in generators)


def found_shares(
    trials: int, spread: float, num_seeds: int = 3, count: int = 16, **options
) -> dict[str, float]:
    """Return how often search and full grid find the best setting, what they lose in quality, and the runs."""
    rows = []
    for generator in np.random.default_rng(2).spawn(trials):
        qualities = spread * generator.normal(size=count)
        found = search(generator, qualities, num_seeds, **options)
        grid = int((qualities[:, None] + generator.normal(size=(count, num_seeds))).mean(axis=1).argmax())
        best = int(qualities.argmax())
        lost = qualities[best] - qualities[found.best] if found.best is not None else np.nan
        rows.append((found.best == best, grid == best, lost, qualities[best] - qualities[grid], found.runs, found.steps,
                     found.clear, found.clear and found.best != best))  # fmt: skip
    names = "found", "found by the grid", "lost", "lost by the grid", "runs", "in full runs", "clear", "wrong"
    return dict(zip(names, np.nanmean(np.array(rows, dtype=float), axis=0).tolist(), strict=True))


NULLS = {
    "pruned, 10 % of the jobs crash": {"prunes": True, "crash": 0.1},
    "equal variances": {},
    "every second varies five times as much": {"deviations": np.resize([1.0, 5.0], 16)},
    "pruned": {"prunes": True},
    "pruned, 10 % crash, at most 24 runs": {"prunes": True, "crash": 0.1, "max_runs": 24},
}


def main() -> int:
    """Print the tables; the status says whether the bounds are kept."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=300)
    trials = parser.parse_args().trials
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    worst = 0.0
    print(
        "| settings that are equally good | 16, 3 seeds | 2, 3 seeds | 4, 5 seeds |\n| --- | --- | --- | --- |"
    )
    for name, options in NULLS.items():
        cells = []
        for count, num_seeds in ((16, 3), (2, 3), (4, 5)):
            fitting = {k: v[:count] if k == "deviations" else v for k, v in options.items()}
            cells.append(wrong_share(trials, count, num_seeds, **fitting))
        worst = max(worst, *cells)
        print(f"| {name} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |", flush=True)
    print("\n| spread of 16 settings | found | lost | runs | in full runs | clear | wrong |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for spread, options in [(2, {}), (5, {}), (10, {}), (5, {"max_runs": 24}), (5, {"max_runs": 24, "prunes": True}),
                            (10, {"prunes": True, "crash": 0.1})]:  # fmt: skip
        f = found_shares(trials, spread, **options)
        words = ", ".join([str(spread), *(f"{k}={v}" for k, v in options.items())])
        print(f"| {words} | {f['found']:.2f} (grid {f['found by the grid']:.2f}) | {f['lost']:.2f} (grid "
              f"{f['lost by the grid']:.2f}) | {f['runs']:.1f} of 48 | {f['in full runs']:.1f} | {f['clear']:.2f} | "
              f"{f['wrong']:.3f} |", flush=True)  # fmt: skip
    return int(worst > 0.05)


if __name__ == "__main__":
    sys.exit(main())
