"""Runs side by side: grouped by everything but the seed."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from seq2seq.errors import InputError
from seq2seq.experiments.ledger import (
    FILE_NAME,
    PLACING,
    Ledger,
    State,
    fingerprint,
    flat,
    read_ledger,
)
from seq2seq.experiments.translations import Translations, read_translations, translations_path
from seq2seq.option_rules import COUNTS, counting
from seq2seq.plain_text import one_line

NOT_COMPARED = (*PLACING, "seed")
"""Keys that do not set groups apart."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run."""

    folder: Path
    ledger: Ledger

    def values(self) -> dict[str, Any]:
        """What decides its group, by dotted key; the precision as it was, not as it was wanted."""
        values = counting(flat(self.ledger.config))
        if self.ledger.precision is not None:
            values["device.precision"] = self.ledger.precision
        return {k: v for k, v in values.items() if k.partition(".")[0] not in NOT_COMPARED}

    def texts(self) -> dict[str, str]:
        """Fingerprints of the texts that it was scored on, by split."""
        texts = dict(self.ledger.texts)
        for split in () if texts else ("validation", "test"):  # of a run from before they were kept
            with suppress(InputError):
                translated = self.translations(split)
                texts |= {} if translated is None else {split: translated.text}
        return texts

    @property
    def language(self) -> str:
        """Code of the language that it translates into."""
        return str(flat(self.ledger.config).get("data.target_language", ""))

    @property
    def signature(self) -> str:
        """How its BLEU was counted."""
        card = self.ledger.scores.get("test") or self.ledger.scores.get("validation")
        return str(card.get("bleu_signature", "unknown")) if isinstance(card, dict) else "unknown"

    def translations(self, split: str) -> Translations | None:
        """Its translations of a split; None where there are none.

        Raises:
            InputError: they cannot be read.
        """
        path = translations_path(self.folder, split)
        if not path.exists():
            return None
        found = read_translations(path)
        if found.text != self.ledger.texts.get(split, found.text):
            raise InputError(f"{path} is not of the sentences that the record of the run names")
        return found

    def score(self, split: str, name: str) -> float | None:
        """A score of a split."""
        return self.ledger.score(split, name)


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that differ in their seeds only, and were scored on the same texts.

    Attributes:
        label: the values that set it apart from the other groups.
        values: the same by key.
        runs: ordered by seed.
    """

    label: str
    values: Mapping[str, Any]
    runs: Sequence[Run]

    def scores(self, split: str, name: str) -> list[float]:
        """A score of each run that has it."""
        found = (run.score(split, name) for run in self.runs)
        return [score for score in found if score is not None]


@dataclass(frozen=True, slots=True)
class Found:
    """The runs of some folders.

    Attributes:
        finished: those that can be compared.
        others: folders of those that are not finished.
        unreadable: why records cannot be read, a line for each.
    """

    finished: list[Run]
    others: list[Path]
    unreadable: list[str]


def find_runs(paths: Iterable[Path]) -> Found:
    """The runs among folders and what is in them.

    A configuration counts once, whatever it was called: again, it gives the same run, unless the
    machine or the corpus has changed.

    Raises:
        InputError: a path is no folder, or there is no finished run.
    """
    finished: dict[str, Run] = {}
    others, unreadable = [], []
    for path in paths:
        if not path.is_dir():
            raise InputError(f"{path} is no folder: name run folders, or a folder of them")
        own = path / FILE_NAME
        for file in [own] if own.is_file() else sorted(path.rglob(FILE_NAME)):
            try:
                ledger = read_ledger(file.parent)
            except InputError as error:
                unreadable.append(str(error))
                continue
            if ledger is not None and ledger.state is State.finished:
                run = Run(file.parent, ledger)
                key = f"{fingerprint(ledger.config)} {ledger.precision} {run.texts()}"
                finished.setdefault(key, run)
            else:
                others.append(file.parent)
    if not finished:
        reasons = "".join(f"; {reason}" for reason in unreadable[:1])
        raise InputError(f"no finished run in {', '.join(map(str, paths))}{reasons}")
    return Found(list(finished.values()), others, unreadable)


def group_runs(runs: Sequence[Run]) -> list[Group]:
    """Group by everything but the seed, in the order of the runs."""
    members: dict[str, list[Run]] = {}
    for run in runs:
        key = repr([sorted(run.values().items()), run.texts()])
        members.setdefault(key, []).append(run)
    first = [group[0].values() for group in members.values()]
    if len({repr(values) for values in first}) < len(first):  # it is the text that differs
        first = [
            group[0].values() | {f"{split} text": text for split, text in group[0].texts().items()}
            for group in members.values()
        ]
    keys = [
        key for key in dict.fromkeys(key for each in first for key in each) if _differs(key, first)
    ]
    groups = []
    for group, values in zip(members.values(), first, strict=True):
        own = {key: values[key] for key in keys if key in values}
        label = one_line(", ".join(f"{key}={value}" for key, value in own.items()) or "all runs")
        groups.append(Group(label, own, sorted(group, key=lambda run: run.ledger.seed)))
    return groups


def _differs(key: str, values: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a key has several values, where it counts."""
    return len({repr(each.get(key)) for each in values if key in each or key not in COUNTS}) > 1


def mean(numbers: Sequence[float]) -> float | None:
    """Their mean; None of none."""
    return sum(numbers) / len(numbers) if numbers else None


def spread(numbers: Sequence[float]) -> str:
    """Mean and standard deviation."""
    centre, around = mean(numbers), deviation(numbers)
    if centre is None:
        return ""
    return f"{centre:.2f}" if around is None else f"{centre:.2f} ± {around:.2f}"


def deviation(numbers: Sequence[float]) -> float | None:
    """Their standard deviation as a sample (divided by n - 1); None of fewer than two."""
    if len(numbers) < 2:
        return None
    centre = sum(numbers) / len(numbers)
    return sqrt(sum((number - centre) ** 2 for number in numbers) / (len(numbers) - 1))
