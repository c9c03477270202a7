"""A pair of sentences, and the exception of a file that cannot be read."""

from os import PathLike
from typing import NamedTuple

File = str | PathLike[str]
"""A path; messages call it what ``str`` makes of it."""


class FormatError(ValueError):
    """A file that cannot be read; the message is one line that says what is wrong, where, and what to do."""


class Pair(NamedTuple):
    """A sentence, its translation, and its place in the file.

    Attributes:
        source: The source.
        target: The target; blank where there is none.
        place: Number, from 1, of the line where the pair begins; of the row or message where a format has no lines.
    """

    source: str
    target: str
    place: int


def counted(number: int, name: str) -> str:
    """Return a number with what it counts, such as ``1 line`` and ``1,200 lines``."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"
