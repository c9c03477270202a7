"""Failures of the machine that are said in one line: no memory, no space, no folder."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from seq2seq.errors import JobBroken, TrainingFailed
from seq2seq.training.joined_job import is_broken_job

OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
"""What torch says when memory ends; on the CPU it has no exception of its own for it."""


@contextmanager
def failures_in_one_line(folder: Path, batch_shape: Callable[[], str]) -> Iterator[None]:
    """Turn what the machine refuses inside the block into `TrainingFailed`.

    Args:
        folder: of the run.
        batch_shape: tells the size of the batch that was computed last.
    """
    report = threading.excepthook
    threading.excepthook = lambda failed: _report(failed, report)
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if is_broken_job(error):
            raise JobBroken from error
        if not is_out_of_memory(error):
            raise
        raise TrainingFailed(
            f"out of memory on a batch of {batch_shape()}; the last checkpoint is intact: lower "
            "trainer.batch_sentences or trainer.batch_tokens and raise trainer.accumulate, or "
            "lower data.max_length"
        ) from error
    except OSError as error:
        raise TrainingFailed(_said(error, folder)) from error
    finally:
        threading.excepthook = report


def _report(failed: threading.ExceptHookArgs, report: Callable[..., Any]) -> None:
    """Leave out what TensorBoard's writing thread hands on: it is raised here, too."""
    if not isinstance(failed.exc_value, OSError):
        report(failed)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ended."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return any(words in str(error).lower() for words in OUT_OF_MEMORY)


def _said(error: OSError, folder: Path) -> str:
    place = os.fsdecode(error.filename or folder)
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        remedy = "free some space; the last checkpoint is intact and the same command continues"
    else:
        remedy = "make the folder writable again; the same command continues from what is there"
    return f"{place} cannot be written to ({error.strerror or error}): {remedy}"
