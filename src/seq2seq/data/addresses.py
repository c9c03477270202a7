"""Files that are read: paths, patterns, and addresses such as ``hf://datasets/…``, ``s3://…`` and ``https://…``."""

import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from glob import glob
from os import PathLike
from os.path import exists
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce

MAX_FILE = 64 * 2**20
"""Maximum bytes of a file that is read whole."""

_COPIES: list[TemporaryDirectory[str]] = []
"""Folders of the copies of this process, which are removed when it ends."""


def is_address(name: str | Path) -> bool:
    """Return whether a name is an address, which fsspec opens, and no path."""
    return "://" in str(name)


@dataclass(frozen=True)
class Copy(PathLike[str]):
    """A copy of the file at an address: a path, which messages call by the address."""

    address: str
    path: str

    def __str__(self) -> str:
        return self.address

    def __fspath__(self) -> str:
        return self.path


def on_disk(name: str | Path) -> str | Copy:
    """Return the path of a file; of an address, that of a copy, which is made once in a process.

    Raises:
        InputError: There is no file at the address, it cannot be read, or that needs a package.
    """
    return Copy(str(name), _copied(str(name))) if is_address(name) else str(name)


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


def matching(pattern: str | Path) -> list[str]:
    """Return the files that match a pattern such as ``*.en``, ordered by name; the pattern itself if it is a file, or none matches.

    Raises:
        InputError: The pattern is an address that cannot be listed, or that needs a package.
    """
    text = str(pattern)
    if not is_address(text):
        return [text] if exists(text) else sorted(glob(text)) or [text]
    if "*" not in text:
        return [text]
    return _ask(text, lambda system, path: sorted(map(system.unstrip_protocol, system.glob(path)))) or [text]


@cache
def _copied(address: str) -> str:
    announce(f"reading {address}")
    folder = TemporaryDirectory()
    _COPIES.append(folder)
    copy = Path(folder.name, re.sub(r"[^\w.-]", "_", address.rpartition("/")[2])[-100:] or "file")
    _ask(address, lambda system, path: system.get_file(path, str(copy)))
    return str(copy)


def _ask(address: str, question: Callable[[Any, str], Any]) -> Any:
    """Return what a file system answers.

    Args:
        address: Of a file, or a pattern.
        question: Takes the file system of the address, and the path in it.
    """
    from fsspec import url_to_fs

    try:
        return question(*url_to_fs(address))
    except FileNotFoundError as error:
        raise InputError(f"{address}: there is no such file") from error
    except Exception as error:  # each file system has its own
        raise InputError(f"{address} cannot be read: {error or type(error).__name__}") from error
