"""Where the jobs of a sweep come from: a list that may grow when its end is reached."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from seq2seq.experiments.job import Job, Outcome
from seq2seq.experiments.ledger import Ledger
from seq2seq.storage.folder_lock import FolderLock


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that is this driver's to run.

    Attributes:
        job: the job.
        lock: of its folder, held.
        waited: whether another process had the job when this driver first wanted it.
    """

    job: Job
    lock: FolderLock
    waited: bool = False


class Nothing(Enum):
    """Why there is no job to start."""

    now = "the jobs that are left run elsewhere, or what comes next depends on those that run"
    ever = "there are none left"


class Source(Protocol):
    """Gives a driver its jobs, and hears how they go."""

    def claim(self) -> Claim | Nothing:
        """The next job."""

    def progressed(self, job: Job, ledger: Ledger) -> bool:
        """Hear of another validation; returns whether the job should stop there."""

    def ended(self, job: Job, outcome: Outcome) -> None:
        """Hear how a claimed job ended; its lock is still held."""

    def rest(self) -> list[Job]:
        """The jobs that are known and were not claimed."""


class JobList:
    """Jobs in their order.

    Args:
        batches: lists of jobs; the next list is asked for when all jobs of the one before ended.
    """

    def __init__(self, batches: Iterable[list[Job]]) -> None:
        self._batches: Iterator[list[Job]] = iter(batches)
        self._waiting = list(next(self._batches, []))
        self._claimed: set[Job] = set()
        self._elsewhere: set[Job] = set()

    def claim(self) -> Claim | Nothing:
        """The first job that no other process has."""
        if not self._waiting and not self._claimed:
            self._waiting = list(next(self._batches, []))
            if not self._waiting:
                return Nothing.ever
        for job in self._waiting:
            lock = FolderLock.acquire(job.folder)
            if lock is not None:
                self._waiting.remove(job)
                self._claimed.add(job)
                return Claim(job, lock, job in self._elsewhere)
            self._elsewhere.add(job)
        return Nothing.now

    def progressed(self, job: Job, ledger: Ledger) -> bool:  # noqa: ARG002
        """A list stops no job."""
        return False

    def ended(self, job: Job, outcome: Outcome) -> None:  # noqa: ARG002
        """Count it off."""
        self._claimed.discard(job)

    def rest(self) -> list[Job]:
        """The jobs of this batch that were not claimed."""
        return list(self._waiting)
