"""Files by patterns such as ``*.en``, and at addresses such as ``hf://datasets/…``, ``s3://…`` and ``https://…``."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from glob import glob
from os import PathLike
from os.path import exists
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from bitext.pair import File, FormatError, counted

LOG = logging.getLogger("bitext")


def is_address(name: File) -> bool:
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


_COPIES: dict[str, Copy] = {}
"""Those of this process, by address."""


def on_disk(name: File) -> File:
    """Return the path of a file; of an address, that of a copy, which is made once in a process; the logger ``bitext`` says so.

    Raises:
        FormatError: There is no file at the address, it cannot be read, or that needs a package.
    """
    address = str(name)
    if not is_address(address):
        return name
    if address not in _COPIES:
        LOG.info("reading %s", address)
        base = re.sub(r"[^\w.-]", "_", address.rpartition("/")[2])[-100:] or "file"
        copy = Copy(address, str(Path(mkdtemp(dir=_folder().name), base)))
        _ask(address, lambda system, path: system.get_file(path, copy.path))
        _COPIES[address] = copy
    return _COPIES[address]


def matching(pattern: File) -> list[str]:
    """Return the files that match a pattern such as ``*.en``, ordered by name; the pattern itself if it is a file, or none matches.

    Raises:
        FormatError: The pattern is an address that cannot be listed, or that needs a package.
    """
    text = str(pattern)
    if not is_address(text):
        return [text] if exists(text) else sorted(glob(text)) or [text]
    if "*" not in text:
        return [text]
    return _ask(text, lambda system, path: sorted(map(system.unstrip_protocol, system.glob(path)))) or [text]


def parallel_files(source: File, target: File) -> list[tuple[str, str]]:
    """Return the pairs of files that match two patterns, ordered by name.

    Raises:
        FormatError: The patterns match different numbers of files.
    """
    sources, targets = matching(source), matching(target)
    if len(sources) != len(targets):
        raise FormatError(
            f"{source} names {counted(len(sources), 'file')} and {target} names {len(targets)}: the n-th of one, by "
            "name, translates the n-th of the other"
        )
    return list(zip(sources, targets, strict=True))


@cache
def _folder() -> TemporaryDirectory[str]:
    """Return the folder of the copies, which is removed when the process ends."""
    return TemporaryDirectory()


def _ask(address: str, question: Callable[[Any, str], Any]) -> Any:
    """Return what a file system answers.

    Args:
        address: Of a file, or a pattern.
        question: Takes the file system of the address, and the path in it.
    """
    try:
        from fsspec import url_to_fs

        return question(*url_to_fs(address))
    except FileNotFoundError as error:
        raise FormatError(f"{address}: there is no such file") from error
    except Exception as error:  # each file system has its own
        raise FormatError(f"{address} cannot be read: {error or type(error).__name__}") from error
