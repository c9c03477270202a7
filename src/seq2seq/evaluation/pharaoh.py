"""The Pharaoh format of word alignments: a line for each sentence pair, a link ``i-j`` each.

``i`` is the source word, ``j`` the target word, both counted from 0. In gold alignments ``i-j`` is
a sure link, and ``i?j`` or ``ipj`` a possible one. A blank line is a pair without links.
"""

from pathlib import Path

from seq2seq.data.text import parse_links, read_links
from seq2seq.errors import InputError
from seq2seq.evaluation.alignment import GoldAlignment, Links


def format_links(links: Links) -> str:
    """Return links as a sorted line, without the line end."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def format_gold(gold: GoldAlignment) -> str:
    """Return a gold alignment as a line of sure (``i-j``) and possible (``i?j``) links."""
    return " ".join(
        f"{source}{'-' if (source, target) in gold.sure else '?'}{target}"
        for source, target in sorted(gold.possible)
    )


def parse_gold(line: str) -> GoldAlignment:
    """Read a line; links without a mark are sure.

    Raises:
        InputError: Something on the line is no link.
    """
    return _gold(*parse_links(line))


def read_pharaoh(path: Path) -> list[GoldAlignment]:
    """Read a file of alignments, plain or compressed.

    Raises:
        InputError: The file cannot be read, or a line holds something else.
    """
    return [_gold(*links) for links in read_links(path)]


def _gold(every: Links, possible: Links) -> GoldAlignment:
    return GoldAlignment(sure=frozenset(every) - frozenset(possible), possible=frozenset(every))


def require_within(gold: GoldAlignment, num_source: int, num_target: int, where: str) -> GoldAlignment:
    """Return the alignment if all its words exist.

    Raises:
        InputError: A link is of a word beyond the end of the sentence.
    """
    for source, target in sorted(gold.possible):
        if source >= num_source or target >= num_target:
            raise InputError(
                f"{where}: link {source}-{target} is outside the sentence pair of {num_source} and "
                f"{num_target} words: count words from 0, and split the text as the model does"
            )
    return gold
