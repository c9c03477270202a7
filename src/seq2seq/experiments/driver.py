"""Runs the jobs of a sweep beside each other, each in its own process, until there are no more."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from seq2seq.experiments.checkpoints import Keep, discard_checkpoints
from seq2seq.experiments.job import Job, Objective, Outcome, has_model, ledger_of, outcome_of
from seq2seq.experiments.ledger import ENDED, FAILURES, Ledger, State
from seq2seq.experiments.processes import JobProcess
from seq2seq.experiments.running import Running
from seq2seq.experiments.source import Claim, Nothing, Source
from seq2seq.signals import give_back, insists, stop_signals, take

POLL_SECONDS = 0.1
CLAIM_SECONDS = 0.5
"""Between two questions for a job where none was to be had."""


class Observer(Protocol):
    """Sees what a driver does."""

    def started(self, job: Job, *, continued: bool) -> None:
        """A job has begun."""

    def ended(self, job: Job, outcome: Outcome) -> None:
        """A job has ended."""

    def tick(self, running: Sequence[Running]) -> None:
        """Some time has passed."""

    def stopping(self, *, at_once: bool) -> None:
        """The driver was asked to stop, politely or at once."""


@dataclass(slots=True)
class Results:
    """What came of a sweep: outcomes in the order in which jobs ended, and what stopped it."""

    outcomes: dict[Job, Outcome] = field(default_factory=dict)
    signal_number: int | None = None
    out_of_time: bool = False


class Driver:
    """Runs what a source gives.

    Args:
        source: gives the jobs.
        command: the program that runs a job; its overrides are added.
        metric: what the jobs are judged by.
        slots: for each of the jobs that run at a time, its environment.
        keep: checkpoints to keep of jobs that finished or were pruned.
        retry_failed: run those again that failed before.
        deadline: on the monotonic clock; no job is started after it. None for none.
        observer: sees what happens.
    """

    def __init__(
        self,
        source: Source,
        *,
        command: Sequence[str],
        metric: Objective,
        slots: Sequence[dict[str, str]],
        keep: Keep,
        retry_failed: bool,
        deadline: float | None,
        observer: Observer,
    ) -> None:
        self._source, self._command, self._metric = source, command, metric
        self._slots, self._keep, self._retry_failed = slots, keep, retry_failed
        self._deadline, self._observer = deadline, observer
        self._running: list[Running] = []
        self._results = Results()
        self._num_signals = self._num_obeyed = 0
        self._next_claim = 0.0

    def run(self) -> Results:
        """Run until there is nothing left, time is up, or a signal asks to stop.

        At a first SIGINT, SIGTERM or SIGHUP the jobs write their checkpoints and stop; a second
        SIGINT or SIGTERM kills them.
        """
        with self._listening():
            while self._fill() or self._running:
                self._observer.tick(self._running)
                time.sleep(POLL_SECONDS)
                self._look()
        for job in self._source.rest():
            self._results.outcomes.setdefault(job, Outcome(State.skipped))
        return self._results

    @contextmanager
    def _listening(self) -> Iterator[None]:
        before = take(stop_signals(), self._receive)
        try:
            yield
        finally:
            for running in self._running:  # also a defect of the driver lets them stop in order
                running.ask_to_stop()
            give_back(before)

    def _receive(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        before = self._results.signal_number
        self._num_signals += before is None or insists(number, before)
        self._results.signal_number = number

    def _fill(self) -> bool:
        """Start jobs in the free slots; returns whether there may be more to start."""
        while not self._is_over():
            if len(self._running) == len(self._slots) or time.monotonic() < self._next_claim:
                return True
            claim = self._source.claim()
            if isinstance(claim, Nothing):
                self._next_claim = time.monotonic() + CLAIM_SECONDS
                return claim is Nothing.now
            self._take(claim)
        return False

    def _is_over(self) -> bool:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._results.out_of_time = True
        return self._results.out_of_time or self._num_signals > 0

    def _take(self, claim: Claim) -> None:
        ledger = ledger_of(claim.job)
        if ledger is not None and self._is_settled(claim, ledger):
            self._conclude(claim, outcome_of(ledger, self._metric, before=True))
            return
        taken = {running.slot for running in self._running}
        slot = next(slot for slot in range(len(self._slots)) if slot not in taken)
        self._running.append(Running(JobProcess(claim, self._command, self._slots[slot]), slot))
        self._observer.started(claim.job, continued=ledger is not None)

    def _is_settled(self, claim: Claim, ledger: Ledger) -> bool:
        """Whether nothing is left to do; what failed elsewhere meanwhile is not tried again."""
        if ledger.state is State.finished:
            return has_model(claim.job.folder)
        if ledger.state in FAILURES:
            return claim.waited or not self._retry_failed
        return ledger.state in ENDED

    def _look(self) -> None:
        """See to the running jobs."""
        self._obey()
        for running in list(self._running):
            returned = running.process.poll()
            self._hear(running)
            if returned is not None:
                self._running.remove(running)
                self._conclude(running.process.claim, running.outcome(returned, self._metric))

    def _obey(self) -> None:
        """Stop the jobs as often as there was a signal."""
        if self._num_obeyed == self._num_signals:
            return
        self._num_obeyed = self._num_signals
        self._observer.stopping(at_once=self._num_signals > 1)
        for running in self._running:
            running.ask_to_stop()
            if self._num_signals > 1:
                running.process.kill()

    def _hear(self, running: Running) -> None:
        """Tell the source of a validation; it may want the job to stop."""
        if not running.read() or running.ledger is None or running.asked_to_stop:
            return
        if self._source.progressed(running.job, running.ledger):
            running.pruned = True
            running.ask_to_stop()

    def _conclude(self, claim: Claim, outcome: Outcome) -> None:
        if outcome.state in {State.finished, State.pruned} and not outcome.before:
            discard_checkpoints(claim.job.folder, self._keep)
        self._next_claim = 0.0
        self._results.outcomes[claim.job] = outcome
        self._source.ended(claim.job, outcome)
        claim.lock.close()
        self._observer.ended(claim.job, outcome)
