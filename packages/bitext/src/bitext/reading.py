"""Pairs from a file of any format, and from two files."""

import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from bitext import moses, srt, table
from bitext.addresses import on_disk, parallel_files
from bitext.columns import Columns
from bitext.files import kind_of_file, refusing
from bitext.kinds import refusal
from bitext.opus import members_of, read_members
from bitext.pair import File, FormatError, Pair

READERS = {
    "text": "table", "JSON": "json_records", "Parquet": "parquet", "TMX": "tmx", "XLIFF": "xliff", "WMT XML": "wmt",
    "gettext (.po)": "po", "gettext (.mo)": "po",
}  # fmt: skip
"""The file of this package that reads each kind; it is imported when there is such a file."""


def holds_pairs(path: File) -> bool:
    """Return whether a file holds pairs, not text in one language.

    Raises:
        FormatError: It is missing, damaged, or a folder.
    """
    path = on_disk(path)
    if zipfile.is_zipfile(path):
        with refusing(str(path)), zipfile.ZipFile(path) as archive:
            if len(archive.namelist()) > 1:
                return True
    kind = kind_of_file(path)
    return kind in READERS and (kind != "text" or table.is_table(path))


def read(path: File, columns: Columns = Columns()) -> Iterator[Pair]:  # noqa: B008 - it is frozen
    """Return the pairs of a file, whose format is told by its content.

    Args:
        path: The file, or its address; it may be compressed.
        columns: What is source and target; without languages, those of a file that has two.

    Raises:
        FormatError: The file is a pipe, of another kind, damaged, or it is not clear what is source and target; also while
            the pairs are read.
    """
    path = on_disk(path)
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise FormatError(
            f"{path} is a pipe, and the format of a file of pairs is told before it is read: give a file, which may be "
            "compressed, or two pipes, of one language each"
        )
    if zipfile.is_zipfile(path) and (members := members_of(path, columns)):
        return read_members(path, members)
    kind = kind_of_file(path)
    if kind not in READERS:
        raise refusal(str(path), kind)
    reader: Callable[[File, Columns], Iterator[Pair]] = import_module(f"bitext.{READERS[kind]}").read
    return reader(path, columns)


def read_two(source: File, target: File) -> Iterator[Pair]:
    """Yield the pairs of two files, or of those that two patterns match: lines by their numbers, subtitles by their times.

    Raises:
        FormatError: A file cannot be read, or they do not belong together.
    """
    for files in parallel_files(source, target):
        paths = [*map(on_disk, files)]
        known = [path for path in paths if Path(path).is_file()]  # a pipe can be read only once
        is_shown = len(known) == 2 and all(kind_of_file(path) == srt.KIND for path in known)
        yield from (srt if is_shown else moses).read(*paths)
