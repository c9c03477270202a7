"""A job of a sweep: one run, as its own command line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from seq2seq.experiments.ledger import Ledger, State, best_entry, fingerprint, read_ledger

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a sweep.

    Attributes:
        overrides: its command line after the program.
        folder: its run folder.
        fingerprint: of its configuration.
        seed: its seed.
        label: the overrides that tell it from the other jobs.
    """

    overrides: tuple[str, ...]
    folder: Path
    fingerprint: str
    seed: int
    label: str


@dataclass(frozen=True, slots=True)
class Objective:
    """What runs are judged by.

    Attributes:
        name: as in the history of a ledger, such as ``validation/bleu``.
        direction: ``max`` or ``min``.
    """

    name: str
    direction: str

    def best(self, ledger: Ledger) -> float | None:
        """The best value that a run had."""
        entry = best_entry(ledger.history, self.name, self.direction)
        return None if entry is None else entry.get(self.name)

    def choice(self, runs: Mapping[Key, Ledger]) -> Key | None:
        """The first of the best runs; None where no run has the value."""
        choose = min if self.direction == "min" else max
        values = {key: value for key, run in runs.items() if (value := self.best(run)) is not None}
        return choose(values, key=lambda key: values[key], default=None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended.

    Attributes:
        state: in one word.
        detail: why.
        value: the best value of the sweep's metric.
        test_bleu: BLEU on the test split.
        seconds: wall time of all its attempts.
        before: whether it had ended before this sweep looked at it.
    """

    state: State
    detail: str = ""
    value: float | None = None
    test_bleu: float | None = None
    seconds: float | None = None
    before: bool = False

    def words(self) -> str:
        """The state, with its number where it has one."""
        if self.state is State.killed:
            return f"killed by {self.detail}"
        if self.state is State.exited:
            return f"exited with {self.detail}"
        return self.state.name


def ledger_of(job: Job) -> Ledger | None:
    """The record of a job; None where its folder has none, or that of another configuration."""
    ledger = read_ledger(job.folder)
    if ledger is None or job.fingerprint not in {ledger.fingerprint, fingerprint(ledger.config)}:
        return None
    return ledger


def has_model(folder: Path) -> bool:
    """Whether a run has exported its model."""
    return (folder / "model" / "model.json").is_file()


def outcome_of(ledger: Ledger, metric: Objective, *, before: bool = False) -> Outcome:
    """The outcome that a record tells."""
    return Outcome(
        state=ledger.state,
        detail=ledger.detail,
        value=metric.best(ledger),
        test_bleu=ledger.score("test", "bleu"),
        seconds=ledger.wall_seconds,
        before=before,
    )
