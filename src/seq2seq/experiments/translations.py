"""The translations of a run, kept so that runs can be compared sentence by sentence."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from msgspec import Struct

from seq2seq.errors import InputError
from seq2seq.storage.typed_json import decoded, read_bytes
from seq2seq.storage.writing import write_file

MOST_BYTES = 1 << 28
"""Of a file: a million sentences."""


class _Row(Struct):
    """A line of the file. The first version of the format does not name itself."""

    source: str
    reference: str
    hypothesis: str
    version: Literal[1] = 1


@dataclass(frozen=True, slots=True)
class Translations:
    """A translated split, in order.

    Attributes:
        sources: what was translated.
        references: as it should be.
        hypotheses: as it is.
    """

    sources: list[str]
    references: list[str]
    hypotheses: list[str]

    @property
    def text(self) -> str:
        """The fingerprint of what was translated."""
        return text_fingerprint(zip(self.sources, self.references, strict=True))


def text_fingerprint(pairs: Iterable[tuple[str, str]]) -> str:
    """A digest of sources and references, in order: runs with the same one can be compared."""
    digest = sha256()
    for pair in pairs:
        digest.update(json.dumps(pair).encode())
    return digest.hexdigest()[:16]


def translations_path(run_dir: Path, split: str) -> Path:
    """Where the translations of a split are, a JSON object a line."""
    return run_dir / "translations" / f"{split}.jsonl"


def write_translations(path: Path, translations: Translations) -> None:
    """Write them, whole or not at all."""
    rows = zip(translations.sources, translations.references, translations.hypotheses, strict=True)
    lines = [
        json.dumps({"source": s, "reference": r, "hypothesis": h}, ensure_ascii=False)
        for s, r, h in rows
    ]
    write_file(path, "\n".join(lines) + "\n")


def read_translations(path: Path) -> Translations:
    """Read them.

    Raises:
        InputError: the file is missing or damaged.
    """
    number = 0
    rows = []
    try:
        # not splitlines(): text may hold other line ends than \n
        lines = read_bytes(path, MOST_BYTES).removesuffix(b"\n").split(b"\n")
        for number, line in enumerate(lines, start=1):  # noqa: B007 - for the message
            rows.append(decoded(line, _Row))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}, line {number}, cannot be read ({error}): train the run again"
        ) from error
    return Translations(
        [row.source for row in rows],
        [row.reference for row in rows],
        [row.hypothesis for row in rows],
    )
