"""A lock on a folder, which ends with the processes that hold it, however they end."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from seq2seq.errors import InputError, TrainingFailed

FILE_NAME = ".lock"
INHERITED = "SEQ2SEQ_FOLDER_LOCK"
"""Environment variable that tells a process which of its file descriptors are a lock."""

UNKNOWN = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}
"""What file systems say that have no locks."""


class FolderLock:
    """Held by at most one process and those that it hands the lock on to.

    A process started with `handed_on` holds the lock together with its parent, and goes on holding
    it when the parent dies, so that there is no moment at which a job that was started is not
    locked. The kernel ends the lock with the last holder: nothing is left behind by ``kill -9``.

    Locked are a file in the folder and, where the file system can do that, the folder itself: to
    remove the file frees nothing.
    """

    def __init__(self, folder: Path, descriptors: tuple[int, ...]) -> None:
        self._folder, self._descriptors = folder, descriptors

    @classmethod
    def acquire(cls, folder: Path, *, wait: bool = False, setting: str = "runs_dir") -> Self | None:
        """The lock of a folder, which is made; None while others hold it.

        `setting` is what names another folder.

        Raises:
            InputError: the folder cannot be made or locked.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return cls._inherited(folder) or cls._acquire(folder, wait)
        except OSError as error:
            reason, remedy = f"made or locked ({error.strerror})", "a folder of yours"
            if error.errno in UNKNOWN:
                reason = f"locked: its file system has no locks ({error.strerror})"
                remedy = "a folder on another file system"
            elif error.errno == errno.ELOOP:
                reason, remedy = "locked: its .lock is a link", "another folder, or remove the link"
            raise InputError(f"{folder} cannot be {reason}: set {setting} to {remedy}") from error

    @classmethod
    def _acquire(cls, folder: Path, wait: bool) -> Self | None:
        path, how = folder / FILE_NAME, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)
        while True:
            descriptors = [_open(path)]
            try:
                fcntl.flock(descriptors[0], how)
                descriptors += _lock_itself(folder, how)
            except OSError as error:
                os.close(descriptors[0])
                if isinstance(error, BlockingIOError):
                    return None
                raise
            lock = cls(folder, tuple(descriptors))
            if lock.is_whole():
                return lock
            lock.close()  # the folder was removed and made again meanwhile

    @classmethod
    def _inherited(cls, folder: Path) -> Self | None:
        """The lock that the parent handed on, if it is that of this folder."""
        lock = cls(folder, inherited_descriptors())
        if not lock._descriptors or not lock.is_whole():
            return None
        del os.environ[INHERITED]
        for descriptor in lock._descriptors:
            os.set_inheritable(descriptor, False)
        return lock

    def is_whole(self) -> bool:
        """Whether what is locked is still the file, and the folder, that others find."""
        places = (self._folder / FILE_NAME, self._folder)
        return all(map(_is, self._descriptors, places))

    def require(self) -> None:
        """Put back a lock file that somebody removed.

        Raises:
            TrainingFailed: another process has locked the folder since.
            OSError: the folder is not there, or cannot be written to.
        """
        path = self._folder / FILE_NAME
        while not _is(self._descriptors[0], path):
            descriptor = _open(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.dup2(descriptor, self._descriptors[0], inheritable=False)
            except BlockingIOError as error:
                raise TrainingFailed(
                    f"{path} was removed, and another process works in the folder since: wait for "
                    "it, or end it; the last checkpoint is intact"
                ) from error
            finally:
                os.close(descriptor)

    @property
    def handed_on(self) -> tuple[tuple[int, ...], dict[str, str]]:
        """The descriptors and the environment variable for a process that is to hold it too."""
        return self._descriptors, {INHERITED: ",".join(map(str, self._descriptors))}

    def close(self) -> None:
        """Stop holding the lock; others that it was handed on to still do."""
        for descriptor in self._descriptors:
            os.close(descriptor)


@contextmanager
def holding(folder: Path, *, wait: bool, setting: str = "runs_dir") -> Iterator[bool]:
    """Hold the lock of a folder; false while others do and `wait` is not set.

    Raises:
        OSError: the folder cannot be made.
        InputError: it cannot be locked.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FolderLock.acquire(folder, wait=wait, setting=setting)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.close()


def inherited_descriptors() -> tuple[int, ...]:
    """The descriptors that a parent handed on, by its word."""
    numbers = os.environ.get(INHERITED, "").split(",")
    return tuple(map(int, numbers)) if all(map(_is_descriptor, numbers)) else ()


def _is_descriptor(number: str) -> bool:
    if not number.isdecimal() or len(number) > 6:
        return False
    try:
        os.fstat(int(number))
    except OSError:
        return False
    return True


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _lock_itself(folder: Path, how: int) -> list[int]:
    """Lock the folder; where that cannot be done, as on NFS, the file in it has to do."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        return []
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        os.close(descriptor)
        return []
    return [descriptor]


def _is(descriptor: int, path: Path) -> bool:
    """Whether an open file is the one at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
