"""The start of a training from the weights of another model."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from seq2seq.common.errors import InputError
from seq2seq.common.named import flat, is_within
from seq2seq.common.progress import warn
from seq2seq.data.vocabulary import SPECIALS
from seq2seq.models.seq2seq import Seq2Seq


def start_from(model: Seq2Seq, other: Seq2Seq, key: str) -> None:
    """Give a model the weights of another; warn of arguments by which it computes something else from them.

    Tokens that only it has, behind those of the other, begin with the mean of the others' rows, see `with_rows`.

    Raises:
        InputError: It has other sizes, or one weight where the other has two.
    """
    pairs = [flat(each.config or {}, "model") for each in (model, other)]
    shared = [name for name in pairs[0] if name in pairs[1] and not name.endswith(("dropout", "vocab_size"))]
    differing = [name for name in shared if not _are_same(name, *(pair[name] for pair in pairs))]
    named = ", ".join(f"{name}={pairs[1][name]} (now {pairs[0][name]})" for name in differing)
    weights = with_rows(other.state_dict(), model)
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


def with_rows(weights: Mapping[str, Tensor], model: Seq2Seq) -> dict[str, Tensor]:
    """Return weights with further rows in embeddings and output layer, where a model has more tokens.

    Each new row is the mean of those of the tokens before, special ones left out. A logit of a new token is so at most the
    largest of the others': greedy search translates as before.
    """
    found = dict(weights)
    for name, value in model.state_dict().items():
        before = weights.get(name)
        if before is None or not name.startswith(
            ("source_embedding.", "decoder.embedding.", "decoder.output.")
        ):
            continue
        if len(value) > len(before) and value.shape[1:] == before.shape[1:]:
            mean = before[len(SPECIALS) :].mean(dim=0, keepdim=True)
            found[name] = torch.cat([before, mean.expand(len(value) - len(before), *before.shape[1:])])
    return found


def _are_same(name: str, first: Any, second: Any) -> bool:
    """Return whether two arguments are equal, or names of one class of this program, which may have moved."""
    classes = [str(each).rpartition(".")[2] for each in (first, second) if is_within(str(each), ["seq2seq"])]
    return first == second or (name.endswith("_target_") and len(classes) == 2 and classes[0] == classes[1])
