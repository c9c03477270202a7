"""Files that hold sentence pairs, in any of the formats of this package."""

import zipfile
import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from seq2seq.common.counted import counted
from seq2seq.common.files import matching, on_disk
from seq2seq.common.progress import announce
from seq2seq.data.formats import kinds, table
from seq2seq.data.formats.columns import Columns
from seq2seq.data.languages import nearest
from seq2seq.data.text import SentencePair, open_text, read_parallel, refusing
from seq2seq.errors import InputError

READERS = {
    "text": "table.read", "JSON": "records.read_json", "Parquet": "records.read_parquet", "TMX": "tmx.read",
    "XLIFF": "xliff.read", "WMT XML": "wmt.read", "gettext (.po)": "gettext_catalog.read", "gettext (.mo)": "gettext_catalog.read",
}  # fmt: skip
"""The function of this package that reads each kind."""


def kind_of_file(path: str) -> str:
    """Return the kind of a file, see `kinds.kind_of`.

    Raises:
        InputError: It is missing, damaged, or a folder.
    """
    with refusing(path), open_text(path) as file:
        return kinds.kind_of(file.peek(kinds.HEAD)[: kinds.HEAD])


def holds_pairs(path: str) -> bool:
    """Return whether a file holds sentence pairs, not text in one language; False for a pattern or a missing file."""
    if matching(path) != [str(path)] or not Path(on_disk(path)).is_file():
        return False
    if zipfile.is_zipfile(on_disk(path)) and len(zipfile.ZipFile(on_disk(path)).namelist()) > 1:
        return True
    kind = kind_of_file(path)
    return kind in READERS and (kind != "text" or table.is_table(path))


def read_pairs(path: str, columns: Columns) -> list[SentencePair]:
    """Read the sentence pairs of a file, whose format is told by its content.

    Raises:
        InputError: The file is a pipe, of another kind, damaged, or it is not clear what is source and target.
    """
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise InputError(
            f"{path} is a pipe, and the format of a file of pairs is told before it is read: give a file, which may be "
            "compressed, or two pipes to data=parallel"
        )
    if zipfile.is_zipfile(on_disk(path)):
        members = opus_members(path, columns)
        if members:
            return read_opus(path, members)
    kind = kind_of_file(path)
    if kind not in READERS:
        raise kinds.refusal(path, kind)
    module, name = READERS[kind].split(".")
    reader: Callable[[str, Columns], list[SentencePair]] = getattr(
        import_module(f"{__package__}.{module}"), name
    )
    return reader(path, columns)


def read_split(key: str, files: Mapping[str, Any], columns: Columns) -> list[SentencePair]:
    """Read a split of two files, one sentence a line, or of one file that holds both languages; none without files.

    Names may be patterns; `key` is that of the files in the configuration.

    Raises:
        InputError: See `two_files`, `read_parallel` and `read_pairs`.
    """
    source, target = files.get("source"), files.get("target")
    if source is None and target is None:
        return []
    if is_path(source) and target in (None, source) and holds_pairs(str(source)):
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
        if path is not None and holds_pairs(path):
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


def opus_members(path: str, columns: Columns) -> list[str]:
    """Return the files of source and target in a zip archive of OPUS, such as ``Tatoeba.en-fr.en``; none if it is not one."""
    with zipfile.ZipFile(on_disk(path)) as archive:
        names = [name for name in archive.namelist() if "." in Path(name).name]
    endings = [name.rsplit(".", 1)[1] for name in names]
    codes = [nearest(endings, language) for language in columns.languages]
    if any(len(each) != 1 or endings.count(each[0]) > 1 for each in codes):
        return []
    return [names[endings.index(each[0])] for each in codes]


def read_opus(path: str, members: list[str]) -> list[SentencePair]:
    """Read two files of a zip archive, line n of one with line n of the other."""
    try:
        with zipfile.ZipFile(on_disk(path)) as archive:
            sides = [
                archive.read(name).decode("utf-8-sig").removesuffix("\n").split("\n") for name in members
            ]
    except (OSError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is damaged or not UTF-8: {error}") from error
    if len(sides[0]) != len(sides[1]):
        raise InputError(
            f"{path}: {members[0]} has {counted(len(sides[0]), 'line')} but {members[1]} has {len(sides[1]):,}"
        )
    return [SentencePair(*(text.removesuffix("\r") for text in pair)) for pair in zip(*sides, strict=True)]
