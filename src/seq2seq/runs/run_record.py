"""The record of a run, kept while it runs."""

import platform
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from omegaconf import OmegaConf

from seq2seq.config import Config
from seq2seq.errors import InputError, TrainingFailed, TrainingInterrupted
from seq2seq.evaluation.metrics import Direction, progress_in
from seq2seq.experiments.ledger import (
    Ledger,
    State,
    add_validation,
    amend_ledger,
    differing_keys,
    fingerprint,
    read_ledger,
    write_ledger,
)
from seq2seq.experiments.metrics import read_metrics
from seq2seq.experiments.provenance import git_commit, peak_memory_bytes, versions
from seq2seq.own_files import CLONE
from seq2seq.plain_text import first_line
from seq2seq.runs.launch import job_process
from seq2seq.storage.folder_lock import FolderLock


def config_values(config: Config) -> dict[str, Any]:
    """A configuration as JSON values, without the sweep, which a run does not know of."""
    return {key: value for key, value in plain_values(config).items() if key != "sweep"}


def plain_values(section: Any) -> dict[str, Any]:
    """A section as JSON values."""
    values: dict[str, Any] = to_builtins(section)
    return values


def config_yaml(config: Config) -> str:
    """The text of ``config.yaml``, without the sweep."""
    return OmegaConf.to_yaml(OmegaConf.create(config_values(config)))


def monitor(config: Config) -> tuple[str, Direction]:
    """The metric that progress is seen in, and whether it should be small or large."""
    chosen = config.trainer.monitor
    return progress_in("loss" if chosen == "last" else chosen)


def refuse_other_finished(run_dir: Path, config: Config) -> None:
    """The results of a finished run are not those of another configuration.

    Raises:
        InputError: naming the keys that differ.
    """
    ledger = read_ledger(run_dir)
    values = config_values(config)
    if ledger is None or fingerprint(ledger.config) == fingerprint(values):
        return
    differences = differing_keys(ledger.config, values).items()
    named = ", ".join(
        f"{key}={old!s:.80} there, {new!s:.80} here" for key, (old, new) in differences
    )
    raise InputError(f"{run_dir} holds a run of another configuration ({named}): give name=…")


@dataclass(slots=True)
class RunRecord:
    """Writes the ledger of a run while it runs.

    Attributes:
        folder: of the run.
        ledger: what is written.
        lock: of the folder, where this process holds it.
        writes: whether it is; only the first process of a job does.
    """

    folder: Path
    ledger: Ledger
    lock: FolderLock | None
    writes: bool
    _started: float
    _seconds_before: float
    _accepted: bool

    @classmethod
    def begin(
        cls,
        config: Config,
        folder: Path,
        overrides: Sequence[str],
        lock: FolderLock | None = None,
        *,
        writes: bool = True,
    ) -> "RunRecord":
        """Begin the record of a run, or continue that of an earlier attempt.

        The latter is not written before it is accepted, see `accept`.
        """
        values = config_values(config)
        ledger = Ledger(
            state=State.running,
            config=values,
            overrides=list(overrides),
            fingerprint=fingerprint(values),
            seed=config.seed,
            versions=versions(),
            git=git_commit(CLONE) if CLONE else None,
            host=platform.node(),
            process=job_process(),
            started=_now(),
            history=[],
            monitor=monitor(config),
            scores={},
        )
        earlier = read_ledger(folder)
        continues = earlier is not None and any((folder / "checkpoints").glob("*.ckpt"))
        if earlier is not None and continues:
            _continue(ledger, earlier)
        seconds = ledger.wall_seconds
        record = cls(folder, ledger, lock, writes, time.monotonic(), seconds, not continues)
        if not continues:
            record.save()
        return record

    def accept(self) -> None:
        """Write from here on: the folder's progress is that of this configuration."""
        self._accepted = True
        self.save()

    def save(self) -> None:
        """Write it."""
        if not self.writes:
            return
        self.require_place()
        elapsed = time.monotonic() - self._started
        self.ledger.wall_seconds = round(self._seconds_before + elapsed, 1)
        self.ledger.peak_memory_bytes = peak_memory_bytes()
        write_ledger(self.folder, self.ledger)

    def require_place(self) -> None:
        """No other process works in the folder; see `FolderLock.require`."""
        if self.lock is not None:
            self.lock.require()

    def add_validation(self, entry: dict[str, float]) -> None:
        """Add the metrics of a validation."""
        add_validation(self.ledger, entry)
        self.save()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Write at the end of the block how it ended, also by an error."""
        try:
            yield
        except BaseException as error:
            if isinstance(error, InputError) and not self._accepted:
                raise  # what is refused leaves the folder as it was
            # where the record cannot be written either, the first error says why
            with suppress(OSError, TrainingFailed):
                self._end(*_state_of(error))
            raise
        self._end(State.finished, "", "")

    def _end(self, state: State, detail: str, trace: str) -> None:
        ledger = self.ledger
        ledger.state, ledger.detail, ledger.traceback, ledger.ended = state, detail, trace, _now()
        self.save()


def _continue(ledger: Ledger, earlier: Ledger) -> None:
    """Take over from an earlier attempt what goes on; without a checkpoint nothing is replayed."""
    ledger.history, ledger.best = earlier.history, earlier.best
    ledger.tokens_per_second = earlier.tokens_per_second
    ledger.started, ledger.wall_seconds = earlier.started, earlier.wall_seconds
    ledger.attempts = earlier.attempts + 1


def _state_of(error: BaseException) -> tuple[State, str, str]:
    """The state that an error puts a run in, why, and the traceback."""
    if isinstance(error, TrainingInterrupted):
        return State.interrupted, f"signal {error.signal_number}", ""
    if isinstance(error, KeyboardInterrupt):
        return State.interrupted, "signal 2", ""
    if isinstance(error, SystemExit):
        return State.exited, f"status {error.code}", ""
    if isinstance(error, InputError | TrainingFailed):
        return State.failed, str(error), ""
    said = f"{type(error).__name__}: {first_line(error)}"
    return State.failed, said, traceback.format_exc()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def finished_scores(run_dir: Path) -> dict[str, Any] | None:
    """What ``metrics.json`` holds; None where the run is not finished, or lost its model.

    Raises:
        InputError: the file is damaged.
    """
    path = run_dir / "metrics.json"
    if not path.is_file() or not (run_dir / "model" / "model.json").is_file():
        return None
    return read_metrics(path)


def finish_record(run_dir: Path, scores: dict[str, Any]) -> None:
    """Write down that a run is finished, if it ended just before it could."""

    def finish(ledger: Ledger) -> None:
        ledger.state, ledger.detail, ledger.scores = State.finished, "", scores
        ledger.ended, ledger.process = ledger.ended or _now(), job_process()

    ledger = read_ledger(run_dir)
    if ledger is not None and ledger.state is not State.finished:
        amend_ledger(run_dir, finish)
