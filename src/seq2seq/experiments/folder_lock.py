"""A lock on a folder, which ends with the processes that hold it, however they end."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from seq2seq.errors import InputError

FILE_NAME = ".lock"
INHERITED = "SEQ2SEQ_FOLDER_LOCK"
"""Environment variable that tells a process which of its file descriptors is a lock."""


class FolderLock:
    """Held by at most one process and those that it hands the lock on to.

    A process started with `handed_on` holds the lock together with its parent, and goes on holding
    it when the parent dies, so that there is no moment at which a job that was started is not
    locked. The kernel ends the lock with the last holder: nothing is left behind by ``kill -9``.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, folder: Path, *, wait: bool = False) -> Self | None:
        """The lock of a folder, which is made; None while others hold it.

        Args:
            folder: what to lock.
            wait: wait for the others instead.

        Raises:
            InputError: the folder cannot be made or locked.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            inherited = cls._inherited(folder)
            return inherited or cls._acquire(folder / FILE_NAME, wait)
        except OSError as error:
            raise InputError(
                f"{folder} cannot be made or locked ({error.strerror}): set runs_dir to a folder "
                "of yours"
            ) from error

    @classmethod
    def _acquire(cls, path: Path, wait: bool) -> Self | None:
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                os.close(descriptor)
                return None
            if _is(descriptor, path):
                return cls(descriptor)
            os.close(descriptor)  # the folder was removed and made again meanwhile

    @classmethod
    def _inherited(cls, folder: Path) -> Self | None:
        """The lock that the parent handed on, if it is that of this folder."""
        text = os.environ.get(INHERITED, "")
        if not text.isdecimal() or not _is(int(text), folder / FILE_NAME):
            return None
        del os.environ[INHERITED]
        os.set_inheritable(int(text), False)
        return cls(int(text))

    @property
    def handed_on(self) -> tuple[int, dict[str, str]]:
        """The descriptor and the environment variable for a process that is to hold it too."""
        return self._descriptor, {INHERITED: str(self._descriptor)}

    def close(self) -> None:
        """Stop holding the lock; others that it was handed on to still do."""
        os.close(self._descriptor)


@contextmanager
def holding(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock of a folder; false while others do and `wait` is not set.

    Raises:
        OSError: the folder cannot be made or locked.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FolderLock.acquire(folder, wait=wait)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.close()


def _is(descriptor: int, path: Path) -> bool:
    """Whether an open file is the one at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
