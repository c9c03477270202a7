"""Training checkpoints: written whole or not at all, read only if intact. Calls `torch.load`.

A checkpoint is what `torch.save` writes, and after it one line with the step and the SHA-256 of
everything before that digest; torch's own reader passes over the line.
"""

import hashlib
import io
import os
import pickle
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import torch

from seq2seq.errors import InputError, TrainingFailed
from seq2seq.experiments.checkpoints import LAST, PREVIOUS
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.storage.writing import move, write_file

MODEL_PREFIX = "model."
"""How the Lightning module names its model in a checkpoint."""

REQUIRED = ("state_dict", "loops", "callbacks", "optimizer_states", "conditions", "events")
"""What a checkpoint holds at least, if training is to continue from it."""

TRAILER = re.compile(rb"\nseq2seq-checkpoint step=(\d{12}) sha256=([0-9a-f]{64})\n")
TRAILER_LENGTH = 1 + 18 + 6 + 12 + 8 + 64 + 1
DIGEST_LENGTH = 8 + 64 + 1
"""`` sha256=…`` and the end of the line: what the digest does not cover."""

CHUNK = 1 << 20


class DamagedCheckpointError(Exception):
    """A file that is not, or no longer, a checkpoint of this program."""


def write_checkpoint(
    path: Path, checkpoint: dict[str, Any], *, previous: Path | None = None
) -> None:
    """Write a checkpoint so that at every moment the path holds a whole one.

    Args:
        path: where to.
        checkpoint: tensors and plain values.
        previous: where the checkpoint that is there moves to; None to replace it.

    Raises:
        OSError: the disk is full, or the folder cannot be written to. What was there is intact.
    """
    content = io.BytesIO()
    torch.save(checkpoint, content)
    content.write(f"\nseq2seq-checkpoint step={checkpoint.get('global_step', 0):012d}".encode())
    digest = hashlib.sha256(content.getbuffer()).hexdigest()
    content.write(f" sha256={digest}\n".encode())
    write_file(path, content.getbuffer(), previous=previous)


def read_checkpoint(path: Path, *, map_location: Any = "cpu") -> dict[str, Any]:
    """Read a checkpoint whose digest is right. Nothing in it can run code.

    Raises:
        DamagedCheckpointError: the file is truncated, changed, or of another program.
    """
    try:
        with path.open("rb") as file:
            _require_intact(file)
            file.seek(0)
            content = torch.load(file, map_location=map_location, weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
        raise DamagedCheckpointError(str(error).strip().partition("\n")[0]) from error
    if not isinstance(content, dict):
        raise DamagedCheckpointError("it holds no checkpoint")
    return content


def _require_intact(file: BinaryIO) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - TRAILER_LENGTH, 0))
    match = TRAILER.fullmatch(file.read())
    if match is None:
        raise DamagedCheckpointError("its last line is missing: it is cut off, or no checkpoint")
    file.seek(0)
    digest = hashlib.sha256()
    for chunk in _chunks(file, size - DIGEST_LENGTH):
        digest.update(chunk)
    if digest.hexdigest() != match[2].decode():
        raise DamagedCheckpointError("its content has changed since it was written")


def _chunks(file: BinaryIO, length: int) -> Iterator[bytes]:
    while length > 0:
        chunk = file.read(min(CHUNK, length))
        if not chunk:
            return
        length -= len(chunk)
        yield chunk


def newest_checkpoint(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """The newest intact checkpoint to continue from; None where none was ever written.

    A damaged newer one is set aside, with a line that says so.

    Raises:
        TrainingFailed: there are checkpoints, and all of them are damaged.
    """
    damaged: dict[Path, str] = {}
    for path in (folder / LAST, folder / PREVIOUS):
        if not os.path.lexists(path):
            continue
        try:
            content = _read_resumable(path)
        except DamagedCheckpointError as error:
            damaged[path] = str(error)
            continue
        _set_aside(damaged, path)
        return path, content
    if damaged:
        reasons = "; ".join(f"{path}: {reason}" for path, reason in damaged.items())
        raise TrainingFailed(
            f"all checkpoints are damaged ({reasons}): bring one back from a backup, or remove "
            f"{folder} to train from the beginning"
        )
    return None


def _read_resumable(path: Path) -> dict[str, Any]:
    content = read_checkpoint(path)
    missing = [key for key in REQUIRED if key not in content]
    if missing:
        raise DamagedCheckpointError(f"it lacks {', '.join(missing)}")
    return content


def _set_aside(damaged: dict[Path, str], used: Path) -> None:
    for path, reason in damaged.items():
        numbered = (path.with_name(f"damaged-{number}-{path.name}") for number in count(1))
        aside = next(each for each in numbered if not os.path.lexists(each))
        print(f"WARNING: {path} is damaged ({reason}); kept as {aside.name}, {used.name} is used")
        move(path, aside)


def load_model_weights(path: Path, model: Seq2Seq) -> None:
    """Put the weights of a checkpoint into a model.

    Raises:
        TrainingFailed: the file is damaged.
        InputError: it holds another model.
    """
    try:
        state = read_checkpoint(path, map_location=model.device)["state_dict"]
        weights = {name.removeprefix(MODEL_PREFIX): tensor for name, tensor in state.items()}
        model.load_state_dict(weights, strict=True)
    except DamagedCheckpointError as error:
        raise TrainingFailed(
            f"{path} is damaged ({error}): bring it back from a backup, or train again under "
            "another name=…"
        ) from error
    except (RuntimeError, KeyError, ValueError, AttributeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} does not hold this model's weights: {reason}") from error
