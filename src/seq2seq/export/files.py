"""Files of exports: never in the place of others, and there whole or not at all."""

import os
from pathlib import Path

from seq2seq.common.errors import InputError


def write_export(path: Path, text: str) -> None:
    """Write an export, which is there whole or not at all, such as on a full disk."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def require_mark(path: Path, mark: bytes) -> None:
    """Raise InputError if something is at the place of an export but an older one, which has a mark."""
    if path.is_dir() or (path.is_file() and mark not in path.read_bytes()):
        raise InputError(f"{path} is nothing that this export writes, and stays: give another name by -o")
