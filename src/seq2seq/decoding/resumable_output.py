"""A file of translations that a later process can continue."""

import hashlib
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from seq2seq.decoding.model_files import HEADER, model_folder
from seq2seq.errors import InputError
from seq2seq.storage.failures import is_full, refusal, refusals_in_one_line
from seq2seq.storage.removal import remove_leftovers
from seq2seq.storage.typed_json import Count, Value, encoded, read_json
from seq2seq.storage.writing import flush, write_file

SUFFIX = ".progress"
"""End of the name of the file beside the output that tells how far it is; gone at the end."""

VERSION = 1


class _Progress(Struct):
    """What the file beside the output holds."""

    lines: Count
    bytes: Count
    input_sha256: str
    conditions: dict[str, Value]
    version: int = VERSION


def progress_of(path: Path) -> Path:
    """The file beside an output that tells how far it is."""
    return path.with_name(path.name + SUFFIX)


class ResumableOutput:
    """Appends whole windows of lines to a file, and remembers after each what it has read.

    Whatever ends the process, the file beside the output tells of a state that is on the disk; what
    has been written after it is cut off.

    Args:
        path: of the output.
        conditions: what the translation depends on besides the input, as JSON values.
        resume: continue what is there.

    Raises:
        InputError: what is there is complete, of other conditions, or interrupted and not to be
            continued.
    """

    def __init__(self, path: Path, conditions: Mapping[str, Any], *, resume: bool) -> None:
        self._path = path
        self._beside = progress_of(path)
        self._conditions = json.loads(json.dumps(conditions))
        self._digest = hashlib.sha256()
        self.num_lines = 0
        """Lines of the input that have been translated."""
        self._num_bytes = 0
        self._expected: str | None = None
        if self._beside.exists():
            self._continue(resume=resume)
        elif resume and path.exists():
            raise InputError(
                f"{path} is there without {self._beside.name}: it is complete; leave --resume out "
                "to translate again"
            )
        remove_leftovers(self._beside.parent, [self._beside.name])
        try:
            if self._expected is None:
                self._remember()
            self._file = path.open("r+b" if self.num_lines else "wb")
            self._file.truncate(self._num_bytes)
            self._file.seek(self._num_bytes)
        except OSError as error:
            if is_full(error):
                raise refusal(error, path) from error
            raise InputError(f"{path} cannot be written to ({error.strerror})") from error

    def __enter__(self) -> "ResumableOutput":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # `add` has flushed, or told
            self._file.close()

    def _continue(self, *, resume: bool) -> None:
        """Read how far an interrupted translation is."""
        if not resume:
            raise InputError(
                f"{self._path} holds an interrupted translation: add --resume to continue it, or "
                f"remove {self._beside}"
            )
        state = read_json(
            self._beside,
            _Progress,
            version=VERSION,
            refusal="is damaged",
            remedy="remove it to begin again",
        )
        self.num_lines, self._num_bytes = state.lines, state.bytes
        self._expected = state.input_sha256
        differing = sorted(
            name for name, value in self._conditions.items() if state.conditions.get(name) != value
        )
        complete = not self.num_lines or (
            self._path.is_file() and self._path.stat().st_size >= self._num_bytes
        )
        if differing:
            raise InputError(
                f"{self._path} was begun with another {', '.join(differing)}: give the same, or "
                f"remove {self._beside} to begin again"
            )
        if not complete:
            raise InputError(
                f"{self._path} is shorter than {self._beside.name} says: remove both to begin again"
            )

    def remaining(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines of the input that have not been translated.

        Raises:
            InputError: those that have been are not those of this input.
        """
        iterator = iter(lines)
        num_skipped = 0
        for line in islice(iterator, self.num_lines):
            self._count(line)
            num_skipped += 1
        differs = self._expected is not None and self._digest.hexdigest() != self._expected
        if num_skipped < self.num_lines or differs:
            raise InputError(
                f"the first {self.num_lines:,} lines of the input are not those that {self._path} "
                f"was made of: give the same input, or remove {self._beside} to begin again"
            )
        return iterator

    def add(self, lines: list[str], translations: str) -> None:
        """Append the translations of some lines, durably.

        Raises:
            TrainingFailed: the disk is full; what was added before can be continued.
        """
        for line in lines:
            self._count(line)
        content = translations.encode()
        with refusals_in_one_line(self._path):
            self._file.write(content)
            flush(self._file)
            self.num_lines += len(lines)
            self._num_bytes += len(content)
            self._remember()

    def complete(self) -> None:
        """There is nothing to continue."""
        self._beside.unlink()

    def _count(self, line: str) -> None:
        self._digest.update(f"{line}\n".encode())

    def _remember(self) -> None:
        state = _Progress(
            self.num_lines, self._num_bytes, self._digest.hexdigest(), self._conditions
        )
        write_file(self._beside, encoded(state))


def translation_conditions(models: Iterable[Path], options: Mapping[str, Any]) -> dict[str, Any]:
    """What a translation depends on: the options, and the models, by the digest of their header.

    (The header holds the digests of all files of a model, which are checked where it is loaded.)
    """
    headers = [model_folder(path) / HEADER for path in models]
    digests = [hashlib.sha256(header.read_bytes()).hexdigest() for header in headers]
    return {"model": digests} | {f"--{name.replace('_', '-')}": v for name, v in options.items()}


class Pace:
    """Says on the terminal how many lines are translated, and how many a second."""

    def __init__(self, num_lines: int, *, shown: bool) -> None:
        self.num_lines = self._first = num_lines
        self._shown = shown
        self._started = time.monotonic()

    def add(self, num_lines: int) -> None:
        """Count lines."""
        self.num_lines += num_lines
        if self._shown:
            rate = (self.num_lines - self._first) / (time.monotonic() - self._started)
            print(f"\r{self.num_lines:,} lines, {rate:,.1f} a second ", end="", file=sys.stderr)

    def end(self) -> None:
        """Leave the line."""
        if self._shown:
            print(file=sys.stderr)
