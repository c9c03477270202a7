"""A job while it runs, and what is said of it when its process has ended."""

import signal
import time
from dataclasses import dataclass

from seq2seq.experiments.job import Job, Objective, Outcome, ledger_of, outcome_of
from seq2seq.experiments.ledger import FILE_NAME, Ledger, State, amend_ledger
from seq2seq.experiments.processes import JobProcess, last_line


@dataclass(slots=True)
class Running:
    """A job that runs now.

    Attributes:
        process: its process.
        slot: its share of the machine.
        ledger: its record as last read; None until the process has begun one.
        pruned: whether a search wants it to stop.
        asked_to_stop: whether the driver has asked it to stop.
    """

    process: JobProcess
    slot: int
    ledger: Ledger | None = None
    pruned: bool = False
    asked_to_stop: bool = False
    _read_at: int = -1

    @property
    def job(self) -> Job:
        """What runs."""
        return self.process.job

    @property
    def seconds(self) -> float:
        """For how long."""
        return time.monotonic() - self.process.started

    def read(self) -> bool:
        """Read the record if this process has written it anew; returns whether it has."""
        path = self.job.folder / FILE_NAME
        written = path.stat().st_mtime_ns if path.is_file() else -1
        if written == self._read_at:
            return False
        self._read_at, ledger = written, ledger_of(self.job)
        if ledger is None or ledger.process != self.process.number:
            return False  # of an earlier attempt
        self.ledger = ledger
        return True

    def ask_to_stop(self) -> None:
        """Let it write its checkpoint and stop."""
        self.asked_to_stop = True
        self.process.ask_to_stop()

    def outcome(self, returned: int, metric: Objective) -> Outcome:
        """What became of the process, which its record is made to say."""
        self.read()
        if self.ledger is None:
            return self._outcome_without_record(returned)
        amend_ledger(self.job.folder, lambda ledger: self._amend(ledger, returned))
        ledger = ledger_of(self.job)
        return outcome_of(self.ledger if ledger is None else ledger, metric)

    def _amend(self, ledger: Ledger, returned: int) -> None:
        """Write down an end of which the process itself had no say."""
        if ledger.state is State.running:
            ledger.state, ledger.detail = self._end(returned)
        if self.pruned and ledger.state is not State.finished:
            epoch = int(ledger.history[-1]["epoch"]) if ledger.history else 0
            ledger.state, ledger.detail = State.pruned, f"after epoch {epoch}"

    def _end(self, returned: int) -> tuple[State, str]:
        if returned >= 0:
            return State.exited, f"status {returned}"
        name = signal.Signals(-returned).name
        return (State.interrupted if self.asked_to_stop else State.killed), name

    def _outcome_without_record(self, returned: int) -> Outcome:
        """The process ended before it was a run: wrong input, or a signal while it loaded."""
        if returned < 0:
            state, detail = self._end(returned)
        else:
            line = last_line(self.job.folder).removeprefix("error: ")
            state, detail = State.failed, line or "it left no record"
        return Outcome(state, detail, seconds=self.seconds)
