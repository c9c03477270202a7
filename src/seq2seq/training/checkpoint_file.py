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
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import torch
from msgspec import Struct
from torch import Tensor, nn

from seq2seq.errors import InputError, TrainingFailed
from seq2seq.experiments.checkpoints import LAST, PREVIOUS
from seq2seq.plain_text import first_line, one_line
from seq2seq.storage.typed_json import Count, converted, open_regular
from seq2seq.storage.writing import move, write_file
from seq2seq.training.form import require_form

MODEL_PREFIX = "model."
"""How the Lightning module names its model in a checkpoint."""

VERSION = 1
"""Of what a checkpoint holds; those from before there was a version are taken for the first."""

REQUIRED = ("state_dict", "loops", "callbacks", "optimizer_states", "conditions", "events")
"""What a checkpoint holds at least, if training is to continue from it."""

TRAILER = re.compile(rb"\nseq2seq-checkpoint step=(\d{12}) sha256=([0-9a-f]{64})\n")
TRAILER_LENGTH = 1 + 18 + 6 + 12 + 8 + 64 + 1
DIGEST_LENGTH = 8 + 64 + 1
"""`` sha256=…`` and the end of the line: what the digest does not cover."""

CHUNK = 1 << 20


class _Versioned(Struct):
    format_version: Count = VERSION


class _Weights(Struct):
    state_dict: dict[str, Tensor]


UNREADABLE = (
    OSError, RuntimeError, EOFError, LookupError, ValueError, TypeError, AttributeError,
    ArithmeticError, AssertionError, ImportError, MemoryError, pickle.UnpicklingError, BadZipFile,
)  # fmt: skip
"""What torch's reader raises at a file that is none of its own, or a strange one."""


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
    torch.save({"format_version": VERSION} | checkpoint, content)
    content.write(f"\nseq2seq-checkpoint step={checkpoint.get('global_step', 0):012d}".encode())
    digest = hashlib.sha256(content.getbuffer()).hexdigest()
    content.write(f" sha256={digest}\n".encode())
    write_file(path, content.getbuffer(), previous=previous)


def read_checkpoint(path: Path, *, map_location: Any = "cpu") -> dict[str, Any]:
    """Read a checkpoint whose digest is right. Nothing in it can run code.

    Raises:
        DamagedCheckpointError: the file is truncated, changed, or of another program.
        InputError: it is of another version of the format.
    """
    try:
        with open_regular(path) as file:
            _require_intact(file)
            _require_plain_archive(file)
            file.seek(0)
            content = torch.load(file, map_location=map_location, weights_only=True)
        version = converted(content, _Versioned).format_version
    except UNREADABLE as error:
        raise DamagedCheckpointError(first_line(error)) from error
    if version != VERSION:
        raise InputError(
            f"{path} is of format version {version}, this program reads version {VERSION}: "
            "continue with the program it is from, or give another name=…"
        )
    return content


def require_plain(value: Any) -> None:
    """Check that a checkpoint can give a value back: it is of tensors and plain values alone.

    Raises:
        pickle.UnpicklingError: it is not.
    """
    content = io.BytesIO()
    torch.save(value, content)
    content.seek(0)
    torch.load(content, weights_only=True)


def _require_plain_archive(file: BinaryIO) -> None:
    """Refuse compressed members: `torch.save` writes none, and a few bytes can be terabytes."""
    file.seek(0)
    if any(member.compress_type != ZIP_STORED for member in ZipFile(file).infolist()):
        raise ValueError("it is compressed")


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
        said = f"{path} is damaged ({reason}); kept as {aside.name}, {used.name} is used"
        print(f"WARNING: {one_line(said)}")
        move(path, aside)


def load_model_weights(path: Path, model: nn.Module) -> None:
    """Put the weights of a checkpoint into a model.

    Raises:
        TrainingFailed: the file is damaged.
        InputError: it holds another model.
    """
    try:
        state = converted(read_checkpoint(path), _Weights).state_dict
        weights = {name.removeprefix(MODEL_PREFIX): tensor for name, tensor in state.items()}
        require_form(weights, model.state_dict(), "state_dict")
    except DamagedCheckpointError as error:
        raise TrainingFailed(
            f"{path} is damaged ({error}): bring it back from a backup, or train again under "
            "another name=…"
        ) from error
    except ValueError as error:
        raise InputError(f"{path} does not hold this model's weights: {error}") from error
    model.load_state_dict(weights, strict=True)
