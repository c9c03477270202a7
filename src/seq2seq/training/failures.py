"""Failures of the machine that are said in one line: no memory, no space, no folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from seq2seq.errors import JobBroken, TrainingFailed
from seq2seq.storage.failures import refusals_in_one_line
from seq2seq.training.joined_group import is_broken_job

OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
"""What torch says when memory ends; on the CPU it has no exception of its own for it."""


@contextmanager
def failures_in_one_line(folder: Path, batch_shape: Callable[[], str]) -> Iterator[None]:
    """Turn what the machine refuses inside the block into `TrainingFailed`.

    Args:
        folder: of the run.
        batch_shape: tells the size of the batch that was computed last.
    """
    try:
        with refusals_in_one_line(folder, only=False):
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


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ended."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return any(words in str(error).lower() for words in OUT_OF_MEMORY)
