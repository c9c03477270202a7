"""The proof of an export: what was written runs at other sizes than it was made with, and computes what the model does.

A graph that was traced can fit one batch size or one length, a page can lack a part of a model, a number can overflow
in a smaller format. So every export runs what it wrote, on batches of `LENGTHS`, and compares each step with the model
in memory. If they differ, there is one line and no file.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seq2seq.common.errors import InputError
from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.models.seq2seq import Seq2Seq

LENGTHS = ((1,), (9, 23, 1, 2, 16))
"""Source lengths of the sentences of each batch, with ``<eos>``."""
NUM_STEPS = 3
MOST_MOVED = 0.5
"""Maximum total variation distance of distributions before and after rounding; of the shipped models it is 0.015."""

ROUNDINGS = 4
"""Times that an export may be as far from its model as the model is from itself in float64."""

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
    name: str,
    model: Seq2Seq,
    run: Callable[[SourceBatch, Tensor], Steps],
    bound: float,
    advice: str,
    batches: Sequence[Sequence[int]] = LENGTHS,
) -> None:
    """Compare an export with its model.

    Args:
        name: Of the export, for messages.
        model: The model in memory.
        run: Runs the export, with the arguments and the result of `steps_of`. It may leave out numbers.
        bound: Maximum difference of numbers up to 1, and maximum relative difference of larger ones. Of sentences
            longer than those of `LENGTHS`, a model may itself be further from its numbers in float64; then that decides.
        advice: What to do about a difference, for the message.
        batches: Source lengths of the sentences of each batch. Where the model itself cannot compute it, such as one that
            is longer than its positions, lengths are halved until it can.

    Raises:
        InputError: The export cannot be run, a number differs by more than the bound, or the model cannot compute a batch
            of sentences of several lengths.
    """
    num_padded, generator = 0, torch.Generator().manual_seed(0)
    for given in batches:
        source, tokens, expected = _computed(name, model, given, generator)
        lengths = source.lengths.tolist()
        num_padded += len(set(lengths)) > 1
        where = f"{name} with {len(lengths)} sentences of {max(lengths)} tokens"
        _compare(where, model, run, source, tokens, expected, bound, advice)
    if not num_padded:
        raise InputError(f"{name} cannot be compared, because the model computes no sentences of two lengths")


def require_near(name: str, model: Seq2Seq, rounded: Seq2Seq, advice: str) -> None:
    """Check that rounded weights give nearly the probabilities of the exact ones.

    One large weight takes the precision of all others in its row.

    Args:
        name: Of the rounded weights, for messages.
        model: The model.
        rounded: The same model with rounded weights.
        advice: What to do about a difference, for the message.

    Raises:
        InputError: The total variation distance of two distributions of the next token is above `MOST_MOVED`.
    """
    source, tokens, exact = _computed(name, model, LENGTHS[-1], torch.Generator().manual_seed(0))
    for one, other in zip(exact, steps_of(rounded, source, tokens), strict=True):
        both = (torch.as_tensor(each["log_probabilities"]).double().exp() for each in (one, other))
        moved = float(torch.sub(*both).abs().sum(dim=-1).max()) / 2
        if not moved <= MOST_MOVED:  # nor if it is NaN
            raise InputError(
                f"{name} move the probabilities of a next token by {moved:.2f} in all, more than {MOST_MOVED}: {advice}"
            )


def _computed(
    name: str, model: Seq2Seq, given: Sequence[int], generator: torch.Generator
) -> tuple[SourceBatch, Tensor, Steps]:
    """Return a batch of sentences of some lengths, previous tokens, and what a model computes, see `prove`.

    Raises:
        InputError: The model fails, whatever the lengths.
    """
    sizes = (model.source_embedding.num_embeddings, model.decoder.embedding.num_embeddings)
    lengths = list(given)
    while True:
        source, tokens = _batch(lengths, sizes, generator)
        try:
            return source, tokens, steps_of(model, source, tokens)
        except Exception as error:  # anything can fail in a part of the user's own
            if max(lengths) == 1:
                raise InputError(
                    f"{name} cannot be compared, because the model fails: {error!s:.200}"
                ) from error
            lengths = [max(1, length // 2) for length in lengths]


def _batch(
    lengths: Sequence[int], sizes: tuple[int, int], generator: torch.Generator
) -> tuple[SourceBatch, Tensor]:
    """Return random source sentences of some lengths, and the previous token of each step (T, B)."""
    ids = torch.randint(min(4, sizes[0] - 1), sizes[0], (len(lengths), max(lengths)), generator=generator)
    for row, length in zip(ids, lengths, strict=True):
        row[length - 1] = END_ID
        row[length:] = PADDING_ID
    tokens = torch.randint(0, sizes[1], (NUM_STEPS, len(lengths)), generator=generator)
    tokens[0] = BEGIN_ID
    return SourceBatch(ids, torch.tensor(lengths)), tokens


def _compare(
    where: str,
    model: Seq2Seq,
    run: Callable[[SourceBatch, Tensor], Steps],
    source: SourceBatch,
    tokens: Tensor,
    expected: Steps,
    bound: float,
    advice: str,
) -> None:
    """Run an export on a batch, and compare its numbers with those expected, see `prove`."""
    try:
        found = run(source, tokens)
    except Exception as error:  # other runtimes raise errors of their own
        reason = " ".join(f"{error}".split())
        raise InputError(f"{where} cannot be run, so it is not written: {reason:.200}. {advice}") from error
    off = {
        (number, part): difference(step[part], of_model[part])
        for number, (step, of_model) in enumerate(zip(found, expected, strict=True))
        for part in step.keys() & of_model.keys()
    }
    (number, part), most = max(off.items(), key=lambda item: np.nan_to_num(item[1], nan=np.inf))
    if most <= bound:
        return
    if max(source.lengths) > max(LENGTHS[-1]) and (exact := _in_float64(model, source, tokens)):
        bound = max(bound, ROUNDINGS * max(difference(expected[n][p], exact[n][p]) for n, p in off))
    if not most <= bound:  # nor if it is NaN
        raise InputError(
            f"{where} differs from the model, so it is not written: {part} of step {number} by "
            f"{most:.1e}, more than {bound:.0e}. {advice}"
        )


def _in_float64(model: Seq2Seq, source: SourceBatch, tokens: Tensor) -> Steps | None:
    """Return what `steps_of` returns of the model in float64; None if that fails."""
    try:
        return steps_of(deepcopy(model).double(), source, tokens)
    except Exception:  # of a part of the user's own
        return None


def difference(found: Any, expected: Any) -> float:
    """Return the maximum difference of two arrays, relative to numbers above 1; infinity of different shapes."""
    one, other = (np.asarray(each, dtype=np.float64) for each in (found, expected))
    if one.shape != other.shape:
        return np.inf
    return float((np.abs(one - other) / np.maximum(1, np.abs(other))).max(initial=0))
