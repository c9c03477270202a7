"""The record of a run: ``ledger.json`` in its folder, the one truth about it."""

import json
from collections.abc import Callable, Mapping
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from seq2seq.experiments.metrics import require_scores
from seq2seq.option_rules import counting
from seq2seq.storage.typed_json import Count, Number, Value, Whole, converted, encoded, read_json
from seq2seq.storage.writing import write_file

FILE_NAME = "ledger.json"
VERSION = 1

PLACING = ("experiment_name", "name", "runs_dir", "resume", "sweep")
"""Keys of the configuration that say where a run lives and how it goes on, not what it is."""

LOOKING_ON = ("trainer.callbacks", "trainer.profile", "logger")
"""Others that decide no result."""


class State(Enum):
    """How a run stands."""

    running = "running"
    finished = "finished"
    failed = "failed"
    """It raised an error."""
    exited = "exited"
    """Something in it called exit."""
    killed = "killed"
    """It ended by a signal without having its say."""
    interrupted = "interrupted"
    """It was asked to stop, and kept its progress."""
    pruned = "pruned"
    """A search stopped it because others were better."""
    skipped = "skipped"
    """A sweep ended before it was started. (Never in a ledger.)"""


FAILURES = frozenset({State.failed, State.exited})
"""States in which a run stays unless it is to be tried again."""

ENDED = frozenset({State.finished, State.pruned}) | FAILURES
"""States in which a run stays; from the others it is continued."""


Entry = dict[str, float]
"""A validation: epoch, step and metrics."""
if not TYPE_CHECKING:
    Entry = dict[str, Whole | Number | None]  # what is null in the file is left out


class _Place(Struct):
    """What every validation has."""

    epoch: Annotated[float, Meta(ge=0, le=1e9)]
    step: Annotated[float, Meta(ge=0, le=1e15)]


class Ledger(Struct, kw_only=True, forbid_unknown_fields=True):
    """The record of one run.

    Attributes:
        version: of this format.
        state: how the run stands.
        detail: why: the error in a line, the exit status or the signal.
        traceback: of the error.
        config: every value of the run.
        overrides: what the command line set.
        fingerprint: see `fingerprint`.
        seed: seed of parameters, dropout and batch order.
        versions: of Python and of the packages that decide results.
        git: commit of the program, and whether files differed from it; None outside of git.
        host: name of the machine.
        process: process id.
        threads: CPU threads of torch, once known.
        precision: number format of the products, ``auto`` resolved, once known.
        texts: fingerprints of the validation and the test text, once known.
        started: begin of the first attempt, ISO 8601, UTC.
        ended: end of the latest attempt, None while it runs.
        attempts: how often the run was started or continued.
        wall_seconds: of all attempts together.
        history: an entry for each validation: epoch, step, metrics; in order of steps.
        monitor: the metric that chooses the model, and whether ``min`` or ``max`` is best.
        best: the entry of `history` that is best by it.
        scores: score cards by split, and facts of the training, as in ``metrics.json``.
        tokens_per_second: target tokens in training, median over the validations.
        peak_memory_bytes: greatest resident memory of the process.
        peak_device_memory_bytes: greatest memory on the GPU; None without one.
    """

    version: int = VERSION
    state: State
    detail: str = ""
    traceback: str = ""
    config: dict[str, Value]
    overrides: list[str]
    fingerprint: str
    seed: Whole
    versions: dict[str, str]
    git: dict[str, Value] | None
    host: str
    process: Count
    threads: Count | None = None
    precision: Annotated[str, Meta(pattern="^(fp32|bf16-mixed|fp16-mixed)$")] | None = None
    texts: dict[str, str] = {}
    started: str
    ended: str | None = None
    attempts: Count = 1
    wall_seconds: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    history: list[Entry]
    monitor: tuple[str, Literal["min", "max"]]
    best: Entry | None = None
    scores: dict[str, Value]
    tokens_per_second: Annotated[float, Meta(ge=0, le=1e15)] | None = None
    peak_memory_bytes: Count | None = None
    peak_device_memory_bytes: Count | None = None

    def __post_init__(self) -> None:
        self.history = [_known(entry) for entry in self.history]
        self.best = self.best and _known(self.best)
        require_scores(self.scores)

    def values(self, metric: str) -> dict[int, float]:
        """A metric by epoch."""
        return {int(entry["epoch"]): entry[metric] for entry in self.history if metric in entry}

    def score(self, split: str, name: str) -> float | None:
        """A score of a split, by greedy search."""
        card = self.scores.get(split)
        score = card.get(name) if isinstance(card, dict) else None
        return score if isinstance(score, int | float) else None


def _known(entry: Entry) -> Entry:
    """The numbers of a validation that are numbers.

    Raises:
        ValueError: epoch or step is not among them.
    """
    converted(entry, _Place)
    return {name: value for name, value in entry.items() if value is not None}


def fingerprint(config: Mapping[str, Any]) -> str:
    """A digest of everything in a configuration that decides results, as JSON values.

    Where the run lives, what the sweep does, and options without effect are left out.
    """
    text = json.dumps(_deciding(config), sort_keys=True, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()[:16]


def differing_keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Dotted keys in which two configurations differ, as far as they count, with both values."""
    first, second = _deciding(one), _deciding(other)
    return {
        key: (first.get(key), second.get(key))
        for key in [*first, *(key for key in second if key not in first)]
        if first.get(key) != second.get(key)
    }


def _deciding(config: Mapping[str, Any]) -> dict[str, Any]:
    left_out = {*PLACING, *LOOKING_ON}
    counted = counting(flat(config)).items()
    return {key: each for key, each in counted if not {key, key.partition(".")[0]} & left_out}


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested configuration by dotted keys."""
    leaves: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            leaves |= flat(value, f"{prefix}{key}.")
        else:
            leaves[prefix + key] = value
    return leaves


def read_ledger(folder: Path) -> Ledger | None:
    """The record of a run; None where there is none.

    Raises:
        InputError: the file is not a record that this program can read.
    """
    path = folder / FILE_NAME
    if not path.exists():
        return None
    return read_json(
        path,
        Ledger,
        version=VERSION,
        refusal="is damaged or of another version of this program",
        remedy="move the run away",
    )


def write_ledger(folder: Path, ledger: Ledger) -> None:
    """Write the record of a run, whole or not at all."""
    write_file(folder / FILE_NAME, encoded(ledger))


def amend_ledger(folder: Path, change: Callable[[Ledger], None]) -> None:
    """Change the record of a run that has one. To be called by who holds the folder's lock."""
    ledger = read_ledger(folder)
    if ledger is not None:
        change(ledger)
        write_ledger(folder, ledger)


def add_validation(ledger: Ledger, entry: Entry) -> None:
    """Append a validation; it replaces those from its step on, which a crash had lost."""
    earlier = [other for other in ledger.history if other["step"] < entry["step"]]
    ledger.history = [*earlier, entry]
    ledger.best = best_entry(ledger.history, *ledger.monitor)
    speeds = sorted(
        other["train/tokens_per_second"]
        for other in ledger.history
        if "train/tokens_per_second" in other
    )
    ledger.tokens_per_second = speeds[len(speeds) // 2] if speeds else None


def best_entry(history: list[Entry], metric: str, direction: str) -> Entry | None:
    """The first of the best entries by a metric, ``min`` or ``max``; None if none has it."""
    choose = min if direction == "min" else max
    having = (entry for entry in history if metric in entry)
    return choose(having, key=lambda entry: entry[metric], default=None)
