"""The start of a training from the weights of another model."""

from typing import Any

import torch

from seq2seq.common.errors import InputError
from seq2seq.common.named import flat, is_within
from seq2seq.common.progress import warn
from seq2seq.models.seq2seq import Seq2Seq


def start_from(model: Seq2Seq, other: Seq2Seq, key: str) -> None:
    """Give a model the weights of another; warn of arguments by which it computes something else from them.

    Raises:
        InputError: It has other sizes, or one weight where the other has two.
    """
    pairs = [flat(each.config or {}, "model") for each in (model, other)]
    shared = [name for name in pairs[0] if name in pairs[1] and not name.endswith("dropout")]
    differing = [name for name in shared if not _are_same(name, *(pair[name] for pair in pairs))]
    named = ", ".join(f"{name}={pairs[1][name]} (now {pairs[0][name]})" for name in differing)
    weights = other.state_dict()
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"{key}: its model has other sizes: give {named or f'{error!s:.300}'}") from error
    if not all(
        torch.equal(value.to(weights[name]), weights[name]) for name, value in model.state_dict().items()
    ):
        raise InputError(f"{key}: two of its weights would be one: give {named}")
    if differing:
        warn(f"{key}: its model was trained with {named}: the same weights now compute something else")


def _are_same(name: str, first: Any, second: Any) -> bool:
    """Return whether two arguments are equal, or names of one class of this program, which may have moved."""
    classes = [str(each).rpartition(".")[2] for each in (first, second) if is_within(str(each), ["seq2seq"])]
    return first == second or (name.endswith("_target_") and len(classes) == 2 and classes[0] == classes[1])
