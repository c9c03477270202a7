"""Files that are read: at addresses, by patterns, and those of folders of runs and models."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from bitext import FormatError, is_address
from bitext import matching as files_of
from bitext import on_disk as copied
from joined_words import LinkError
from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce, heard

__all__ = [
    "is_address", "listed_in", "matching", "on_disk", "overrides_of", "read_file", "read_json", "refusing",
]  # fmt: skip

MAX_FILE = 64 * 2**20
"""Maximum bytes of a file that is read whole."""


@contextmanager
def refusing(before: str = "", after: str = "") -> Iterator[None]:
    """Raise an `InputError` for the exception of the packages that read files, with more to its message."""
    try:
        yield
    except (FormatError, LinkError) as error:
        raise InputError(f"{before}{error}{after}") from error


matching, on_disk = refusing()(files_of), refusing()(copied)


heard("bitext", announce)  # what it reads from afar


def read_file(path: Path, limit: int = MAX_FILE) -> bytes:
    """Return the content of a file; InputError: it is a pipe or a device, or has more than `limit` bytes."""
    flag = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | flag)) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and len(content := file.read(limit + 1)) <= limit:
            return content
    raise InputError(f"{path.name} is no regular file of {limit:,} bytes at most")


def read_json(path: Path, limit: int = MAX_FILE) -> Any:
    """Return the content of a JSON file; errors are those of `read_file`, ValueError and RecursionError."""
    found = json.loads(read_file(path, limit).decode())
    json.dumps(found, ensure_ascii=False).encode()  # refuses half of a surrogate pair
    return found


def overrides_of(run: Path) -> list[str]:
    """Return the overrides with which a run was trained; Hydra's own file is also of a later command that was refused."""
    own = run / "overrides.yaml"
    return listed_in(own if own.is_file() else run / ".hydra/overrides.yaml")


def listed_in(path: Path) -> list[str]:
    """Return the texts that a YAML file lists; none if there is no such file."""
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return []
    return [str(each) for each in found] if isinstance(found, list) else []
