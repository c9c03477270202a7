"""What the commands, and the programs in benchmarks/, have in common. Loads no torch."""

import argparse
import json
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from seq2seq.command_line.calling import as_called
from seq2seq.command_line.printing import discard, take_any_name
from seq2seq.errors import InputError, TrainingFailed, TrainingInterrupted
from seq2seq.plain_text import one_line
from seq2seq.storage.failures import is_full, refusal, refusals_in_one_line

ENDINGS = (InputError, TrainingFailed, TrainingInterrupted)
"""What ends a program without a traceback."""

SAID = "said by another process"
"""Note on what ended a program, where the user has been told already."""


def program_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser whose ``--help`` shows a program's own docstring as it is written."""
    return argparse.ArgumentParser(
        description=as_called(description or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def run_program(parser: argparse.ArgumentParser, work: Callable[[argparse.Namespace], int]) -> int:
    """Do what the command line asks for.

    Args:
        parser: of the command line.
        work: the program; takes the options, returns the exit status.

    Returns:
        The exit status: that of `work`; 2 after wrong input and 1 after failed training, which are
        one line on standard error; 128 and the number of the signal where one ended it; 0 where
        whoever read standard output, such as ``head``, has enough.
    """
    take_any_name()
    try:
        with refusals_in_one_line("standard output"):
            status = work(parser.parse_args())
            if sys.stdout is not None:  # it was closed before the program began
                sys.stdout.flush()
            return status
    except ENDINGS as ending:
        return ended_by(ending)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        return 0
    finally:
        _flush()


def ended_by(ending: Exception) -> int:
    """Say in one line what ended a program, one of `ENDINGS`; returns the exit status."""
    stopped = isinstance(ending, TrainingInterrupted)
    if SAID not in getattr(ending, "__notes__", []):
        line = f"{ending}; the same command continues" if stopped else f"error: {ending}"
        print(one_line(line), file=sys.stderr)
    if isinstance(ending, TrainingInterrupted):
        return 128 + ending.signal_number
    return 1 if isinstance(ending, TrainingFailed) else 2


def _flush() -> None:
    """Flush standard output; what it cannot take goes nowhere, lest Python complain at its end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        discard(sys.stdout.fileno())


def write_figures(path: Path | None, figures: Any) -> None:
    """Write what a benchmark measured where ``--json`` says, if it does.

    Raises:
        InputError: the file cannot be written.
    """
    if path is not None:
        with writing(path, "--json"):
            path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def refuse_same_file(
    inputs: Mapping[str, Path | int | None], outputs: Mapping[str, Path | int | None]
) -> None:
    """What is read is not written to, by whatever name.

    Args:
        inputs: paths or descriptors, by what the user knows them as.
        outputs: likewise.

    Raises:
        InputError: an input and an output are the same file.
    """
    for (name, read), (option, written) in product(inputs.items(), outputs.items()):
        if _is_same_file(read, written):
            raise InputError(
                f"{name} and {option} are the same file, which would be lost: give another"
            )


def _is_same_file(one: Path | int | None, other: Path | int | None) -> bool:
    if one is None or other is None:
        return False
    try:
        first, second = os.stat(one), os.stat(other)  # noqa: PTH116 - of descriptors, too
    except OSError:
        return False
    return stat.S_ISREG(first.st_mode) and os.path.samestat(first, second)


def write_page(page: str, path: Path) -> None:
    """Write what ``-o`` names, and say how large it is. Errors are those of `writing`."""
    with writing(path, "-o"):
        path.write_text(page, encoding="utf-8")
    print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """Makes what the file system refuses a wrong option.

    Raises:
        InputError: the file cannot be written.
        TrainingFailed: there is no space for it.
    """
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise refusal(error, path) from error
        raise InputError(
            f"{path} cannot be written ({error.strerror}): give another {option}"
        ) from error
