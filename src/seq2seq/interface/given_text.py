"""Text that a person gives as lists, written as a corpus: so it can be resumed and run again.

The files are named by what they hold: other text is another corpus.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from seq2seq.errors import InputError
from seq2seq.storage.writing import inside, write_file

Pairs = tuple[Sequence[str] | None, Sequence[str] | None]
"""Source sentences and target sentences."""


def text_overrides(runs_dir: Callable[[], Path], splits: Mapping[str, Pairs | None]) -> list[str]:
    """Write the sentences of each split that is given below `runs_dir()`; returns what names them.

    Raises:
        InputError: the sentences are no such lists.
    """
    files: dict[str, str] = {}
    for split, pairs in splits.items():
        if pairs is not None and any(sentences is not None for sentences in pairs):
            files |= _files(split, pairs)
    if not files:
        return []
    if "train.source" not in files:
        raise InputError("validation and test go with source=[…] and target=[…]: give these, too")
    digest = hashlib.sha256("\0".join([*files, *files.values()]).encode()).hexdigest()
    folder = inside(runs_dir(), f".text/{digest[:12]}")
    for name, text in files.items():
        if not (folder / name).is_file() or (folder / name).read_bytes() != text.encode():
            write_file(folder / name, text)
    return ["data=parallel", *(f"data.{name}={_quoted(folder / name)}" for name in files)]


def _files(split: str, pairs: Pairs) -> dict[str, str]:
    """The texts of the two files of a split."""
    prefix = "" if split == "train" else f"{split} "
    source, target = (
        _lines(f"{prefix}{side}", sentences)
        for side, sentences in zip(("source", "target"), pairs, strict=True)
    )
    if len(source) != len(target):
        raise InputError(
            f"{prefix}source has {len(source):,} sentences but {prefix}target has "
            f"{len(target):,}: the n-th of one translates the n-th of the other"
        )
    return {
        f"{split}.source": "".join(f"{line}\n" for line in source),
        f"{split}.target": "".join(f"{line}\n" for line in target),
    }


def _lines(name: str, sentences: Sequence[str] | None) -> list[str]:
    if sentences is None or isinstance(sentences, str):
        found = "missing" if sentences is None else "one text"
        raise InputError(f"{name} is {found}: give a list of sentences")
    lines = list(sentences)
    for place, line in enumerate(lines):
        if not isinstance(line, str):
            raise InputError(f"{name}[{place}] is no text but {type(line).__name__}")
        if "\n" in line or line != line.encode(errors="ignore").decode():
            raise InputError(f"{name}[{place}] is no line of text: {line[:40]!r}")
    if not lines:
        raise InputError(f"{name} holds no sentence")
    return lines


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
