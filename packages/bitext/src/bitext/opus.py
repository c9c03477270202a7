"""Zip archives of OPUS: a file for each language, such as ``Tatoeba.en-fr.en``."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bitext.columns import Columns
from bitext.files import decoded, refusing
from bitext.kinds import HEAD
from bitext.languages import nearest
from bitext.moses import paired
from bitext.pair import File, Pair


def members_of(path: File, columns: Columns) -> list[str]:
    """Return the names of the files of source and target; none if the archive does not have them."""
    with refusing(str(path)), zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if "." in Path(name).name]
    endings = [name.rsplit(".", 1)[1] for name in names]
    languages: Sequence[str] = columns.languages
    if not any(languages):
        found = (re.search(r"\.(\w+)-(\w+)\.\w+$", name) for name in names)
        languages = next((each.groups() for each in found if each), languages)
    codes = [nearest(endings, language) for language in languages]
    if any(len(each) != 1 or endings.count(each[0]) > 1 for each in codes):
        return []
    return [names[endings.index(each[0])] for each in codes]


def read_members(path: File, members: Sequence[str]) -> Iterator[Pair]:
    """Return the pairs of two files of an archive, line n of one with line n of the other.

    Raises:
        FormatError: The archive is damaged, or the files differ in their number of lines; while the pairs are read.
    """

    def lines(member: str) -> Iterator[str]:
        with refusing(str(path)), zipfile.ZipFile(path) as archive, archive.open(member) as file:
            yield from decoded(io.BufferedReader(file, HEAD), f"{path}: {member}")  # type: ignore[arg-type]

    source, target = members
    return paired((lines(source), lines(target)), (f"{path}: {source}", target))
