"""SHA-256 of the files of a folder, so that a damaged one is noticed before it is used."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seq2seq.errors import InputError
from seq2seq.storage.typed_json import open_regular


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a folder, by name."""
    return {path.name: _digest(path) for path in sorted(folder.iterdir()) if path.is_file()}


def value_digest(value: Any) -> str:
    """SHA-256 of a JSON value, however its text is spaced."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def require_digests(folder: Path, digests: Mapping[str, str]) -> None:
    """Compare the files of a folder with their recorded digests.

    Raises:
        InputError: a file is missing or has changed.
    """
    for name, digest in digests.items():
        path = folder / Path(name).name  # a name cannot lead out of the folder
        try:
            found = _digest(path)
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}): export again") from error
        if found != digest:
            raise InputError(f"{path} is damaged: its SHA-256 is not that in model.json")


def _digest(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
