"""The Pharaoh format of word alignments: a line for each sentence pair, a link ``i-j`` each.

``i`` is the source word, ``j`` the target word, both counted from 0. In gold alignments ``i-j`` is
a sure link, and ``i?j`` or ``ipj`` a possible one. A blank line is a pair without links.
"""

import re
from pathlib import Path

from seq2seq.data.text import read_lines
from seq2seq.errors import InputError
from seq2seq.evaluation.alignment import GoldAlignment, Links

_LINK = re.compile(r"([0-9]{1,6})([-?p])([0-9]{1,6})")


def format_links(links: Links) -> str:
    """A line of links, in order, without its line end."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def format_gold(gold: GoldAlignment) -> str:
    """A line of sure (``i-j``) and possible (``i?j``) links."""
    return " ".join(
        f"{source}{'-' if (source, target) in gold.sure else '?'}{target}"
        for source, target in sorted(gold.possible)
    )


def parse_gold(line: str) -> GoldAlignment:
    """Read a line; without marks of possible links all are sure.

    Raises:
        InputError: something on the line is no link.
    """
    sure, possible = set(), set()
    for item in line.split():
        match = _LINK.fullmatch(item)
        if match is None:
            raise InputError(f"{item!r} is no link: write SOURCE-TARGET, such as 0-1")
        link = (int(match[1]), int(match[3]))
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return GoldAlignment(frozenset(sure), frozenset(possible))


def read_pharaoh(path: Path) -> list[GoldAlignment]:
    """Read a file of alignments, plain or gzip.

    Raises:
        InputError: the file cannot be read, or a line holds something else.
    """
    alignments = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            alignments.append(parse_gold(line))
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
    return alignments


def require_within(gold: GoldAlignment, num_source: int, num_target: int, where: str) -> GoldAlignment:
    """The alignment itself, if all its words exist.

    Raises:
        InputError: a link is of a word beyond the end of the sentence.
    """
    for source, target in sorted(gold.possible):
        if source >= num_source or target >= num_target:
            raise InputError(
                f"{where}: link {source}-{target} is outside the sentence pair of {num_source} and "
                f"{num_target} words: count words from 0, and split the text as the model does"
            )
    return gold
