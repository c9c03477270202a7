"""Files of a sweep: locks, which the end of a process frees however it ends; whole files; the table of the results."""

import csv
import io
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hydra.errors import CompactHydraException
from omegaconf import OmegaConf

try:
    import fcntl
except ImportError:  # Windows: two sweeps are then not kept apart
    fcntl = None  # type: ignore[assignment]


KEYS = ("folder", "trial", "study")
"""Columns that say which row of results.csv is whose: a job's of a grid, and a setting's of a search with its study."""


def lock(file: IO[Any], *, wait: bool = True) -> bool:
    """Lock an open file; return False if another process has it and `wait` is False.

    The lock is that of the open file, so a process that inherits the file holds the lock, too.
    """
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
    return True


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a file, which is made; raises BlockingIOError if another process has it and `wait` is False."""
    with path.open("a", encoding="utf-8") as file:
        if not lock(file, wait=wait):
            raise BlockingIOError(f"another process has {path}")
        yield


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.replace(partial, path)


def results_file(sweep: Path) -> Path:
    """Return where the table of a sweep is.

    Raises:
        CompactHydraException: Another file is there.
    """
    path = sweep / "results.csv"
    if path.is_file() and path.stat().st_size:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            heads = next(csv.reader(file), [])
        if not {"result", "status", *KEYS} & {*heads}:
            raise CompactHydraException(
                f"{path} is no table of a sweep, and stays: move it, or give another hydra.sweep.dir"
            )
    return path


def write_results(sweep: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Put rows into results.csv, each in place of the one with the same values in the columns of `KEYS`; others stay."""
    path, kept = results_file(sweep), dict[Any, Mapping[str, Any]]()
    if not rows:
        return

    def whose(row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple("" if row.get(key) is None else str(row[key]) for key in KEYS)

    with locked(sweep / ".results.csv.lock"):  # of another sweep that ends at the same moment
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as file:
                rows_of_file = enumerate(csv.DictReader(file))
                kept = {whose(row) if any(whose(row)) else place: row for place, row in rows_of_file}
        kept |= {whose(row): row for row in rows}
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, dict.fromkeys(itertools.chain(*kept.values())), restval="")
        writer.writeheader()
        writer.writerows(kept.values())
        write_whole(path, text.getvalue())


def metric_of(config: Any) -> dict[str, str]:
    """Return the column that says what a result is: the application's key ``metric``; no column without one."""
    name = OmegaConf.select(config, "metric")
    return {"metric": name} if isinstance(name, str) else {}


def name_of_result(configs: Iterable[Any]) -> str:
    """Return what the results of jobs are called: the value of the applications' key ``metric``; ``result`` without one."""
    names = {metric_of(config).get("metric", "result") for config in configs}
    return names.pop() if len(names) == 1 else "result"


def beside(overrides: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of overrides; one with the name of a column of `own`, or of `KEYS`, is called otherwise.

    That of ``metric`` is left out if `own` has it, which says the same of every row.
    """
    left = {key: value for key, value in overrides.items() if key != "metric" or key not in own}
    return {f"{key} (key)" if key in own or key in KEYS else key: value for key, value in left.items()}


def print_table(rows: Sequence[dict[str, Any]], result: str = "result") -> None:
    """Print what differs between rows; the column of results is headed by `result`."""
    names = [name for name in dict.fromkeys(itertools.chain(*rows)) if name in ("result", "status")
             or (name != "folder" and len({str(row.get(name)) for row in rows}) > 1)]  # fmt: skip

    def text(value: Any) -> str:
        return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)

    heads = [result if name == "result" else name for name in names]
    cells = [heads, *([text(row.get(name)) for name in names] for row in rows)] if rows else []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip())
