"""What a disk refuses, said in one line."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seq2seq.errors import InputError, TrainingFailed

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
REFUSED = FULL | {errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM}


def is_full(error: OSError) -> bool:
    """Whether there was no space left."""
    return error.errno in FULL


def refusal(error: OSError, place: Path | str) -> TrainingFailed:
    """What to say of an error; the place is that of errors that do not name theirs."""
    named = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else place
    remedy = "free some space" if is_full(error) else "make it writable again"
    return TrainingFailed(
        f"{named} cannot be written to ({error.strerror or error}): {remedy}; what was kept before "
        "is intact, and the same command continues"
    )


@contextmanager
def refusals_in_one_line(place: Path | str, *, only: bool = True) -> Iterator[None]:
    """Turn what the disk refuses inside the block into `TrainingFailed`.

    A name that is too long for any file is wrong input.

    Args:
        place: see `refusal`.
        only: pass other errors of the operating system on.
    """
    report = threading.excepthook
    threading.excepthook = lambda failed: _report(failed, report)
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(
                f"{error.filename} is longer than a name can be: shorten it"
            ) from error
        if only and error.errno not in REFUSED:
            raise
        raise refusal(error, place) from error
    finally:
        threading.excepthook = report


def _report(failed: threading.ExceptHookArgs, report: Callable[..., Any]) -> None:
    """Leave out what TensorBoard's writing thread hands on: it is raised in the block, too."""
    if not isinstance(failed.exc_value, OSError):
        report(failed)
