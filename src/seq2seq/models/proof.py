"""The proof of an export: what was written runs at other sizes than it was made with, and computes what the model does.

A graph that was traced can fit one batch size or one length, a page can lack a part of a model, a number can overflow
in a smaller format. So every export runs what it wrote, on batches of `LENGTHS`, and compares each step with the model
in memory. If they differ, there is one line and no file.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.errors import InputError
from seq2seq.models.seq2seq import Seq2Seq

LENGTHS = ((1,), (9, 23, 1, 2, 16))
"""Source lengths of the sentences of each batch, with ``<eos>``."""
NUM_STEPS = 3

Steps = Sequence[Mapping[str, Any]]
"""The numbers of each step by name: ``log_probabilities`` (B, V), ``weights`` (B, S), the mean of the heads, ``new_state_0`` and so on."""


@torch.no_grad()
def steps_of(model: Seq2Seq, source: SourceBatch, tokens: Tensor) -> Steps:
    """Return what a model computes at each step.

    Args:
        model: The model, in evaluation mode.
        source: The source sentences (B).
        tokens: The previous token of each step (T, B).
    """
    memory = model.encode(source)
    state, steps = model.decoder.initial_state(memory), []
    for row in tokens:
        features, state, weights = model.decoder.step(row, state, memory)
        found = {"log_probabilities": model.decoder.output(features).log_softmax(dim=-1)}
        found |= {} if weights is None else {"weights": weights.mean(dim=1)}
        steps.append(found | {f"new_state_{place}": each for place, each in enumerate(state)})
    return steps


def prove(
    name: str, model: Seq2Seq, run: Callable[[SourceBatch, Tensor], Steps], bound: float, advice: str
) -> None:
    """Compare an export with its model.

    Args:
        name: Of the export, for messages.
        model: The model in memory.
        run: Runs the export, with the arguments and the result of `steps_of`. It may leave out numbers.
        bound: Maximum difference of numbers up to 1, and maximum relative difference of larger ones.
        advice: What to do about a difference, for the message.

    A batch that the model itself cannot compute, such as one that is longer than its positions, is left out.

    Raises:
        InputError: The export cannot be run, a number differs by more than the bound, or the model cannot be run.
    """
    failed: Exception | None = None
    num_compared, generator = 0, torch.Generator().manual_seed(0)
    sizes = (model.source_embedding.num_embeddings, model.decoder.embedding.num_embeddings)
    for lengths in LENGTHS:
        shape = len(lengths), max(lengths)
        ids = torch.randint(min(4, sizes[0] - 1), sizes[0], shape, generator=generator)
        for row, length in zip(ids, lengths, strict=True):
            row[length - 1] = END_ID
            row[length:] = PADDING_ID
        tokens = torch.randint(0, sizes[1], (NUM_STEPS, shape[0]), generator=generator)
        tokens[0] = BEGIN_ID
        source = SourceBatch(ids, torch.tensor(lengths))
        where = f"{name} with {shape[0]} sentences of {shape[1]} tokens"
        try:
            expected = steps_of(model, source, tokens)
        except Exception as error:  # anything can fail in a part of the user's own
            failed = error
            continue
        num_compared += 1
        try:
            found = run(source, tokens)
        except Exception as error:  # other runtimes raise errors of their own
            reason = " ".join(f"{error}".split())
            raise InputError(
                f"{where} cannot be run, so it is not written: {reason:.200}. {advice}"
            ) from error
        for number, (step, of_model) in enumerate(zip(found, expected, strict=True)):
            for part in step.keys() & of_model.keys():
                off = difference(step[part], of_model[part])
                if not off <= bound:  # nor if it is NaN
                    raise InputError(
                        f"{where} differs from the model, so it is not written: {part} of step {number} by "
                        f"{off:.1e}, more than {bound:.0e}. {advice}"
                    )
    if not num_compared:
        raise InputError(f"{name} cannot be compared, because the model fails: {failed!s:.200}") from failed


def difference(found: Any, expected: Any) -> float:
    """Return the maximum difference of two arrays, relative to numbers above 1; infinity of different shapes."""
    one, other = (np.asarray(each, dtype=np.float64) for each in (found, expected))
    if one.shape != other.shape:
        return np.inf
    return float((np.abs(one - other) / np.maximum(1, np.abs(other))).max(initial=0))
