"""Signs of life: what begins, a bar where its length is known, on a terminal only; and warnings."""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

LOG = logging.getLogger("seq2seq.progress")
"""Goes to ``train.log`` in the folder of a run, see conf/hydra/job_logging."""
LOG.setLevel(logging.INFO)
LOG.propagate = False
LOG.addHandler(logging.NullHandler())  # else a warning outside of a run is printed twice


def require_standard_error() -> None:
    """Open what a caller has closed: `print` would write warnings to standard output instead."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")


def announce(text: str) -> None:
    """Say what begins, before it begins; of several processes the first one does."""
    LOG.info(text)
    if sys.stderr.isatty() and os.environ.get("LOCAL_RANK", "0") == "0":
        print(f"{text} …", file=sys.stderr, flush=True)


def announce_replaced(*paths: Path) -> None:
    """Say which files, whose names the user did not give, are replaced."""
    if there := [str(path) for path in paths if path.exists()]:
        print(f"{' and '.join(there)}: replaced; give -o FILE to keep both", file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Print a warning on standard error, and log it."""
    LOG.warning(text)
    print(f"WARNING: {text}", file=sys.stderr, flush=True)


@cache
def say_once(line: str) -> None:
    """Print a line, which may be said of a file each time that it is read."""
    print(line)


def tracked(
    parts: Iterable[Any], title: str, total: int | None = None, size: Callable[[Any], int] = lambda _: 1
) -> Iterator[Any]:
    """Yield the parts of a task, with a bar of those that are done.

    `size` returns the units of a part, of `total` in all.
    """
    if not sys.stderr.isatty():
        yield from parts
        return
    from tqdm import tqdm

    with tqdm(total=total, desc=title, delay=1, leave=False, file=sys.stderr) as bar:  # after a second
        for part in parts:
            yield part
            bar.update(size(part))
