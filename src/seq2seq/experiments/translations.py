"""The translations of a run, kept so that runs can be compared sentence by sentence."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq.errors import InputError
from seq2seq.storage.writing import write_file


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
    try:
        # not splitlines(): text may hold other line ends than \n
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        rows: Sequence[dict[str, str]] = [json.loads(line) for line in lines]
        columns = [[row[name] for row in rows] for name in ("source", "reference", "hypothesis")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read ({error}): train the run again") from error
    return Translations(*columns)
