"""Memory of this process and those it has started, as Linux counts it, while something goes on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROCESSES = Path("/proc")
EVERY_SECONDS = 0.05


@dataclass(slots=True)
class Peak:
    """Greatest values seen.

    Attributes:
        resident: bytes in memory, of this process and all below it; what several map counts for
            each.
        private: bytes that are no file's, of this process alone.
        private_before: the latter at the beginning.
    """

    resident: int = 0
    private: int = 0
    private_before: int = 0

    @property
    def private_growth(self) -> int:
        """Bytes that were added."""
        return self.private - self.private_before


@contextmanager
def watched() -> Iterator[Peak]:
    """Look at the memory again and again until the block ends."""
    peak = Peak(private=_bytes("self", "RssAnon"), private_before=_bytes("self", "RssAnon"))
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(peak, ended), daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def _watch(peak: Peak, ended: threading.Event) -> None:
    while True:
        resident = sum(_bytes(process, "VmRSS") for process in ["self", *_below("self")])
        peak.resident = max(peak.resident, resident)
        peak.private = max(peak.private, _bytes("self", "RssAnon"))
        if ended.wait(EVERY_SECONDS):
            return


def _bytes(process: str, field: str) -> int:
    """A size in the status of a process; none where it has ended."""
    try:
        lines = (PROCESSES / process / "status").read_text("ascii", errors="replace").splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
    return int(found[0]) * 1024 if found else 0


def _below(process: str) -> list[str]:
    """Processes that a process has started, and those that they have."""
    try:
        children = [
            child
            for path in (PROCESSES / process / "task").glob("*/children")
            for child in path.read_text("ascii").split()
        ]
    except OSError:
        return []
    return [*children, *(below for child in children for below in _below(child))]
