"""Files and folders that are there whole or not at all, also through a crash of the machine.

A file grows under a name that nobody can guess, is flushed to the disk and renamed, and its folder
is flushed. So nothing is ever written through a link that lies where the file is to be.
"""

import errno
import os
import secrets
import stat
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, TextIO

from seq2seq.errors import InputError
from seq2seq.storage.removal import PARTIAL, remove_folder

UNFLUSHABLE = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EBADF, errno.EACCES}
"""What file systems say that cannot flush a folder, such as some of FUSE and CIFS."""

Content = str | bytes | memoryview


def write_file(path: Path, content: Content, *, previous: Path | None = None) -> None:
    """Write a file so that at every moment the path holds a whole one; its folder is made.

    Args:
        path: where to.
        content: what; text as UTF-8.
        previous: where the file that is there moves to; None to replace it.

    Raises:
        OSError: the disk is full, or the folder cannot be written to. What was there is intact.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_of(path)
    try:
        with new_file(partial) as file:
            file.write(content.encode() if isinstance(content, str) else content)
            flush(file)
        if previous is not None and os.path.lexists(path):
            path.replace(previous)
        move(partial, path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


@contextmanager
def replacing_folder(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """A new folder to be filled, which takes the place of another at the end of the block.

    Files of others that are in the old folder move to the new one.

    `names` are those of our files, see `remove_folder`.
    """
    partial, aside = partial_of(folder), partial_of(folder)
    partial.mkdir(parents=True)
    try:
        yield partial
        _flush_folder(partial)
        if os.path.lexists(folder):
            folder.replace(aside)
        move(partial, folder)
    except BaseException:
        if os.path.lexists(aside) and not os.path.lexists(folder):
            aside.replace(folder)
        remove_folder(partial, names)
        raise
    remove_folder(aside, names)
    with suppress(OSError):  # of two that have the same name ours is in the place
        for kept in list(aside.iterdir()):
            kept.replace(folder / kept.name)
        aside.rmdir()


def partial_of(path: Path) -> Path:
    """A name beside a path for what is being written; `remove_leftovers` knows it."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL}")


def new_file(path: Path) -> BinaryIO:
    """Open a file that is not there yet, for writing."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "wb")


def move(path: Path, target: Path) -> None:
    """Rename, and make sure that the disk knows; what is at the target is replaced."""
    path.replace(target)
    _flush_folder(target.parent)


def open_own(path: Path, flags: int) -> int:
    """Open a file of ours that changes in place; returns the descriptor.

    Raises:
        InputError: the file is a link, has another name elsewhere, or is no file.
        OSError: it cannot be opened.
    """
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO, errno.EISDIR}:
            raise _not_ours(path) from error
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise _not_ours(path)
    return descriptor


def appending(path: Path) -> TextIO:
    """Open a log of ours to write at its end; its folder is made. Errors as of `open_own`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.fdopen(open_own(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a", encoding="utf-8")


def cut(path: Path, size: int) -> None:
    """Shorten a file of ours that is longer. Errors as of `open_own`."""
    descriptor = open_own(path, os.O_WRONLY)
    try:
        if os.fstat(descriptor).st_size > size:
            os.ftruncate(descriptor, size)
    finally:
        os.close(descriptor)


def _not_ours(path: Path) -> InputError:
    return InputError(f"{path} is a link, or no plain file, and is left alone: remove it")


def inside(folder: Path, name: str) -> Path:
    """The path of a name in a folder of ours.

    Raises:
        InputError: it is a link that leads out of the folder.
    """
    path = folder / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise InputError(
            f"{path} is a link that leads out of {folder}, which nothing is written through: "
            "remove it"
        )
    return path


def flush(file: BinaryIO) -> None:
    """Make sure that the disk has what was written."""
    file.flush()
    try:
        os.fsync(file.fileno())
    except OSError as error:  # a pipe or a device has no disk
        if error.errno not in UNFLUSHABLE or stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise


def _flush_folder(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in UNFLUSHABLE:
            raise
        _say_unflushable(error.strerror)


@cache
def _say_unflushable(reason: str) -> None:
    print(
        f"WARNING: this file system cannot flush a folder ({reason}): after a power failure a file "
        "may be the one before",
        file=sys.stderr,
    )
