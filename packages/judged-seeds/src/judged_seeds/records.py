"""Results of any program by seed: CSV, JSON lines and TensorBoard's event files.

A file is the log of one run, whose last value counts, if it has a column of steps and none of seeds; else it is a table with
a row for each seed. In a folder each file is a run. Nested names of JSON are joined by ``/``; ``params.seed`` and
``metrics.val/loss`` of MLflow may be called ``seed`` and ``val/loss``.
"""

import csv
import json
import re
from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from judged_seeds.looks import Judgment, judge, level_of_try, paired

STEPS = "step", "epoch", "global_step", "_step", "iteration"
SEEDS = "seed", "params.seed", "params/seed", "config/seed"
CHOOSE = "choose the rows that are meant, FILE:COLUMN=VALUE"
EVENTS = "events.out.tfevents.*"
KINDS = "*.csv", "*.jsonl", EVENTS
"""Names of files in a folder; of the first kind that has the metric, all are read."""

Result = tuple[str | None, float]
"""Seed, if it is known, and value of a run."""


class ResultError(ValueError):
    """Results cannot be read or judged; the message is one line."""


def judged(baseline: str, candidate: str, metric: str, tries: int = 1) -> tuple[Judgment, float]:
    """Judge the difference of a candidate's results from a baseline's, see `results_of`; return the level, too.

    Args:
        baseline: Results before a change.
        candidate: Results with the change.
        metric: Name of the result.
        tries: Number of changes of this baseline that were tried, from 1.

    Raises:
        ResultError: See `results_of`; or `tries` is less than 1.
    """
    if tries < 1:
        raise ResultError(f"tries={tries}: this change is one of them; expected a number from 1")
    pairs, level = paired(results_of(baseline, metric), results_of(candidate, metric)), level_of_try(tries)
    return judge([after - before for before, after in pairs], level), level


def results_of(given: str, metric: str) -> list[Result]:
    """Return the results of a setting in the order of its runs.

    Args:
        given: A file or a folder, and the rows of a table that are meant: ``runs.csv:lr=0.1``.
        metric: Name of the result.

    Raises:
        ResultError: There is no such file or result, a seed has two, or a run has none or one that is not finite.
    """
    place, _, chosen = given.rpartition(":") if re.search(r":[^:=]+=[^:]*$", given) else (given, "", "")
    path = Path(place)
    if not path.exists():
        raise ResultError(f"{place}: there is no such file or folder")
    results = [each for file in _files(path, metric) for each in _of_file(file, path, metric, chosen)]
    seeds = [seed for seed, _ in results if seed is not None]
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise ResultError(f"{given} has seed {seed} twice: {CHOOSE}")
    for own, value in results:
        if not isfinite(value):
            raise ResultError(f"{given}: {metric} of {'a run' if own is None else f'seed {own}'} is {value}; no mean "
                             "leaves out a run that failed")  # fmt: skip
    if not results:
        raise ResultError(f"{given} has no rows")
    return results


def _files(path: Path, metric: str) -> list[Path]:
    """Return the file, or the runs of a folder: all files, or folders of event files, that are named as one with the metric."""
    if path.is_file():
        return [path]
    for kind in KINDS:
        found = {file.parent if kind == EVENTS else file for file in path.rglob(kind)}
        names = {
            file.name
            for file in found
            if any({metric, f"metrics/{metric}"} & row.keys() for row in _rows(file))
        }
        if names:
            return sorted((f for f in found if f.name in names or kind == EVENTS), key=_natural)
    raise ResultError(f"{path}: no file ({', '.join(KINDS)}) has {metric}")


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names by value."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path))]


def _of_file(file: Path, root: Path, metric: str, chosen: str) -> list[Result]:
    """Return the results of a run's log or of a table."""
    rows = _rows(file)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    if chosen:
        name, _, wanted = chosen.partition("=")
        column = _column(columns, name, file)
        rows = [row for row in rows if str(row.get(column)) == wanted]
    value, seed = _column(columns, metric, file), next((each for each in columns if each in SEEDS), None)
    step = next((each for each in columns if each in STEPS), None)
    if step is None:
        return [(None if seed is None else str(row.get(seed)), _last([row], value)) for row in rows]
    if seed is None:
        return [(_seed_of(file, root), _last(rows, value))]
    by_seed: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row.get(value) not in (None, ""):
            by_seed.setdefault(str(row.get(seed)), []).append(row)
    for each, own in by_seed.items():
        if len({row.get(step) for row in own}) < len(own):
            raise ResultError(f"{file} has a {step} of seed {each} twice: {CHOOSE}")
    return [(each, _last(own, value)) for each, own in by_seed.items()]


def _column(columns: Sequence[str], name: str, file: Path) -> str:
    """Return the column of a name, or that of MLflow's group of it."""
    found = [
        each
        for each in columns
        if each == name or re.fullmatch(rf"(metrics|params)[./]{re.escape(name)}", each)
    ]
    if not found:
        raise ResultError(f"{file} has no {name}, but {', '.join(columns[:12]) or 'nothing'}")
    return found[0]


def _last(rows: Iterable[dict[str, Any]], metric: str) -> float:
    """Return the last value of a metric; NaN if there is none, or it is no number."""
    values = [row[metric] for row in rows if row.get(metric) not in (None, "")]
    try:
        return float(values[-1])
    except (IndexError, TypeError, ValueError):
        return float("nan")


def _seed_of(file: Path, root: Path) -> str | None:
    """Return the seed that the path of a run names, or Hydra's overrides in its folder."""
    named = re.findall(r"seed[=_-]?(\d+)", str(file.relative_to(root.parent)))
    if named:
        return str(named[-1])
    for folder in (file, *file.parents):
        overrides = folder / ".hydra" / "overrides.yaml"
        if overrides.is_file():
            found = re.search(
                r"^- \+*(?:\w+\.)*seed=(\w+)", overrides.read_text(encoding="utf-8"), re.MULTILINE
            )
            return found[1] if found else None
        if folder == root:
            break
    return None


def _rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a file, or of a folder of event files."""
    try:
        if file.is_dir() or file.match(EVENTS):
            return scalars_in(file)
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix in (".jsonl", ".ndjson", ".json"):
            return [dict(_flat(json.loads(line))) for line in text.splitlines() if line.strip()]
        return [*csv.DictReader(text.splitlines())]
    except (OSError, ValueError, csv.Error) as error:
        raise ResultError(f"{file} cannot be read: {str(error).splitlines()[0]:.90}") from error


def _flat(value: Any, name: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the values of a JSON object by name."""
    if not isinstance(value, dict):
        yield name, value
        return
    for key, each in value.items():
        yield from _flat(each, f"{name}/{key}" if name else str(key))


def scalars_in(file: Path) -> list[dict[str, Any]]:
    """Return the scalars of event files as rows."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    found = EventAccumulator(str(file), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    rows = [{"step": e.step, tag: e.value} for tag in found.Tags()["scalars"] for e in found.Scalars(tag)]
    tensors = (
        (tag, e.step, make_ndarray(e.tensor_proto))
        for tag in found.Tags()["tensors"]
        for e in found.Tensors(tag)
    )
    return rows + [
        {"step": step, tag: float(value)}
        for tag, step, value in tensors
        if value.ndim == 0 and value.dtype.kind == "f"
    ]
