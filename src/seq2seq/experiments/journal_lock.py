"""The lock of Optuna's journal."""

import fcntl
import os
from pathlib import Path

from seq2seq.storage.writing import open_own


class JournalLock:
    """A lock that ends with its holder, and that repairs what a holder left half written.

    (Optuna's own locks are files: after ``kill -9`` everybody waits for them, and a line that was
    cut short makes the journal unreadable.)

    Args:
        path: the journal.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def acquire(self) -> bool:
        """Wait for the lock."""
        self._descriptor = open_own(self._path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        self._cut_half_line()
        return True

    def _cut_half_line(self) -> None:
        """Cut off an entry whose writer died within it."""
        size = os.fstat(self._descriptor).st_size
        if size == 0 or os.pread(self._descriptor, 1, size - 1) == b"\n":
            return
        whole = self._path.read_bytes().rfind(b"\n") + 1
        os.ftruncate(self._descriptor, whole)

    def release(self) -> None:
        """Let others have it."""
        os.close(self._descriptor)
