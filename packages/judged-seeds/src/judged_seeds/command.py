"""The command: one line, or JSON, on the difference of two settings."""

from dataclasses import asdict
from json import dumps
from math import isfinite
from typing import Annotated, Literal

from judged_seeds.records import judged

STATUS = {"better": 0, "not shown": 3, "worse": 4}


def compare_results(
    baseline: Annotated[str, "BASELINE"],
    candidate: Annotated[str, "CANDIDATE"],
    *,
    metric: str,
    direction: Literal["min", "max"],
    tries: int = 1,
    json: bool = False,
) -> int:
    """Judge a change by its seeds, such as ``before.csv after.csv --metric val/loss --direction min``

    Reads CSV, JSON lines or TensorBoard's event files of any program. A file is a table with a row for each seed (a column seed, if
    there is one), or the log of one run, if it has a column step or epoch: then its last value counts. In a folder each file is
    a run; its seed is in its path (seed_1) or in Hydra's overrides. FILE:COLUMN=VALUE chooses the rows of a table. Runs are
    paired by seed, or in order if no seed is shared.

    The verdict is wrong in at most 5 % of the studies, however often you look and add seeds. The exit status is 0: shown better, 3: not shown,
    4: shown worse, 2: wrong use.

    Args:
        baseline: Results before the change.
        candidate: Results with the change.
        metric: Name of the result.
        direction: Whether lower or higher is better.
        tries: Number of changes that were tried on this baseline, with this one and those that failed.
        json: Print JSON.
    """
    found, level = judged(baseline, candidate, metric, tries)
    is_better = (found.mean > 0) == (direction == "max")
    verdict = "not shown" if not found.is_shown else "better" if is_better else "worse"
    if json:
        values = asdict(found) | {
            "verdict": verdict,
            "level": level,
            "metric": metric,
            "direction": direction,
        }
        values["interval"] = [each if isfinite(each) else None for each in found.interval]
        print(dumps(values))
    else:
        low, high = found.interval
        reach = f" ({low:+.4g} to {high:+.4g})" if isfinite(low) else ""
        p = "p < 0.001" if found.p < 0.0005 else f"p = {found.p:.3f}"
        print(f"{verdict}: {metric} {found.mean:+.4g}{reach} after {found.seeds} {'seed' if found.seeds == 1 else 'seeds'}, at any number "
              f"of looks, {p}{'' if tries == 1 else f' of {level:.2g} for change {tries}'}{_advice(found.further, found.seeds)}")  # fmt: skip
    return STATUS[verdict]


def _advice(further: int | None, seeds: int) -> str:
    """Return what to do next."""
    if further == 0:
        return ""
    if further is None:
        return (
            "; run at least 2 seeds that differ"
            if seeds < 3
            else "; no number of seeds up to 1,000 is expected to show it"
        )
    return f"; run {further} more {'seed' if further == 1 else 'seeds'} to know (if mean and deviation stay)"
