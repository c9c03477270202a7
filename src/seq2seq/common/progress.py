"""Signs of life: what begins, a bar where its length is known, on a terminal only; counts and warnings."""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

LOG = logging.getLogger("seq2seq.progress")
"""Goes to ``train.log`` in the folder of a run, see conf/hydra/job_logging."""
LOG.setLevel(logging.INFO)
LOG.propagate = False
LOG.addHandler(logging.NullHandler())  # else a warning outside of a run is printed twice


def counted(number: int, name: str) -> str:
    """Return a number with what it counts, such as ``1 line`` and ``1,200 sentence pairs`` of the singular."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def announce(text: str) -> None:
    """Say what begins, before it begins; of several processes the first one does."""
    LOG.info(text)
    if sys.stderr.isatty() and os.environ.get("LOCAL_RANK", "0") == "0":
        print(f"{text} …", file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """Print a line on standard output, and log it."""
    LOG.info(text)
    print(text, flush=True)


def heard(package: str, say: Callable[[str], None] = tell) -> None:
    """Say what a package logs, and warn of its warnings, in place of its own words."""

    class Said(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            (warn if record.levelno > logging.INFO else say)(record.getMessage())

    logger = logging.getLogger(package)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(Said())


def warn(text: str) -> None:
    """Print a warning on standard error, and log it."""
    LOG.warning(text)
    print(f"WARNING: {text}", file=sys.stderr, flush=True)


def tracked(
    parts: Iterable[Any], title: str, total: int | None = None, size: Callable[[Any], int] = lambda _: 1
) -> Iterator[Any]:
    """Yield the parts of a task, with a bar of those that are done.

    `size` returns the units of a part, of `total` in all.
    """
    from tqdm import tqdm

    with tqdm(total=total, desc=title, delay=1, leave=False, disable=None) as bar:  # after a second
        for part in parts:
            yield part
            bar.update(size(part))
