"""Files with both languages, in any format of the package bitext, and the files of a split as a configuration names them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bitext import Column, Columns, holds_pairs, read
from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce
from seq2seq.data.addresses import matching, on_disk, refusing
from seq2seq.data.text import SentencePair, read_parallel


@cache
def say_once(line: str) -> None:
    """Print a line, which may be said of a file each time that it is read."""
    print(line)


def columns_of(
    source_language: str, target_language: str, source_column: Column, target_column: Column
) -> Columns:
    """Return what is source and target by the keys of a corpus.

    Raises:
        InputError: One column is given without the other, or both are the same.
    """
    with refusing():
        return Columns((source_language, target_language), (source_column, target_column), "data.", say_once)


def has_both_languages(path: str) -> bool:
    """Return whether a file holds sentence pairs, not text in one language; False for a pattern or a missing file."""
    if matching(path) != [str(path)] or not Path(on_disk(path)).is_file():
        return False
    with refusing():
        return holds_pairs(path)


def read_pairs(path: str, columns: Columns) -> list[SentencePair]:
    """Read the sentence pairs of a file, whose format is told by its content.

    Raises:
        InputError: The file is a pipe, of another kind, damaged, or it is not clear what is source and target.
    """
    with refusing():
        return [SentencePair(source, target) for source, target, _ in read(path, columns)]


def read_split(key: str, files: Mapping[str, Any], columns: Columns) -> list[SentencePair]:
    """Read a split of two files, one sentence a line, or of one file that holds both languages; none without files.

    Names may be patterns; `key` is that of the files in the configuration.

    Raises:
        InputError: See `two_files`, `read_parallel` and `read_pairs`.
    """
    source, target = files.get("source"), files.get("target")
    if source is None and target is None:
        return []
    if is_path(source) and target in (None, source) and has_both_languages(str(source)):
        announce(f"{source} has both languages")
        return read_pairs(str(source), columns)
    return read_parallel(*two_files(key, files))


def is_path(value: Any) -> bool:
    """Return whether a value names a file."""
    return isinstance(value, str | Path)


def two_files(key: str, files: Mapping[str, Any]) -> tuple[str, str]:
    """Return the source and target files, or patterns, of a split.

    Raises:
        InputError: One is missing, both are the same, or the source file has both languages.
    """
    source, target = files.get("source"), files.get("target")
    for side, path in (("source", source), ("target", target)):
        if path is not None and not is_path(path):
            raise InputError(f"{key}.{side}={path}: give one file, or a pattern such as 'corpus/*.en'")
        if path is not None and has_both_languages(path):
            raise InputError(
                f"{key}.{side}={path} has both languages (every line has a tab, or it is no plain text): give "
                f"data=tsv data.file={path}, or a file of one language"
            )
    if source is None or target is None:
        missing = "source" if source is None else "target"
        raise InputError(f"{key}.{missing} is needed: give both files or neither")
    if source == target:
        raise InputError(f"{key}.source and {key}.target are both {source}: give two files")
    return source, target
