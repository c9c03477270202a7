"""Word alignments in Pharaoh format: a line of ``0-0 1-2`` for each pair of sentences."""

import re

from bitext.files import read_lines
from bitext.pair import File, FormatError

Links = tuple[tuple[int, int], ...]
"""Word alignment: sorted (source word, target word) pairs, counted from 0."""

LINK = re.compile(r"([0-9]{1,6})([-?p])([0-9]{1,6})")


def parse_links(line: str) -> tuple[Links, Links]:
    """Return (all links, possible links) of a line: ``i-j`` is sure, ``i?j`` or ``ipj`` possible.

    A link that is written in both forms is sure.

    Raises:
        FormatError: The line contains something that is not a link.
    """
    every, sure = set(), set()
    for item in line.split():
        match = LINK.fullmatch(item)
        if match is None:
            raise FormatError(f"{item!r:.40} is no link: write SOURCE-TARGET, such as 0-1")
        link = (int(match[1]), int(match[3]))
        every.add(link)
        if match[2] == "-":
            sure.add(link)
    return tuple(sorted(every)), tuple(sorted(every - sure))


def read_links(path: File) -> list[tuple[Links, Links]]:
    """Read a file of alignments, see `parse_links`.

    Raises:
        FormatError: The file cannot be read, or contains something that is not a link.
    """
    found = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            found.append(parse_links(line))
        except FormatError as error:
            raise FormatError(f"{path}, line {number}: {error}") from error
    return found
