"""What takes long to make and not to read, kept in the user's cache folder."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from seq2seq.storage.typed_json import decoded, encoded, read_bytes
from seq2seq.storage.writing import write_file

Kind = TypeVar("Kind")

MOST_FILES = 8
MOST_BYTES = 2**27


def cached(name: str, digest: str, kind: type[Kind], make: Callable[[], Kind]) -> Kind:
    """What `make` gives, from the cache where it was made before.

    A file there that is damaged, or a folder that cannot be written to, is as none.

    Args:
        name: of such values; the newest few of them are kept.
        digest: of all that decides the value.
        kind: its type, for `seq2seq.storage.typed_json`.
        make: makes it.
    """
    path = _path(name, digest)
    with suppress(OSError, ValueError):
        return decoded(read_bytes(path, MOST_BYTES), kind)
    value = make()
    with suppress(OSError):
        write_file(path, encoded(value, indent=-1))
        _keep_newest(path.parent, f"{name}-{'[0-9a-f]' * len(digest)}.json")
    return value


def is_wanted(name: str, digest: str) -> bool:
    """Whether `cached` would make a value, and could keep it."""
    path = _path(name, digest)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        return not path.exists() and os.access(path.parent, os.W_OK)
    return False


def _path(name: str, digest: str) -> Path:
    return _folder() / f"{name}-{digest}.json"


def _folder() -> Path:
    """Of this program, as the XDG Base Directory Specification has it."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path("~/.cache").expanduser()) / "seq2seq"


def _keep_newest(folder: Path, pattern: str) -> None:
    for old in sorted(folder.glob(pattern), key=lambda path: -path.stat().st_mtime)[MOST_FILES:]:
        old.unlink()
