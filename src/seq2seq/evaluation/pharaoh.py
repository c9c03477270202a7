"""The Pharaoh format of word alignments: a line for each sentence pair, a link ``i-j`` each.

``i`` is the source word, ``j`` the target word, both counted from 0. In gold alignments ``i-j`` is
a sure link, and ``i?j`` or ``ipj`` a possible one. A blank line is a pair without links.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from seq2seq.data.text import Links as PairLinks
from seq2seq.data.text import SentencePair, read_lines, split_words
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
            raise InputError(f"{item!r:.40} is no link: write SOURCE-TARGET, such as 0-1")
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


def links_of(line: str) -> tuple[PairLinks, PairLinks]:
    """Return the links of a line as a `SentencePair` has them: all, and those that are possible."""
    gold = parse_gold(line)
    return tuple(sorted(gold.possible)), tuple(sorted(gold.possible - gold.sure))


def with_alignments(
    pairs: Sequence[SentencePair], path: str | Path, key: str, *, exactly: bool
) -> list[SentencePair]:
    """Return pairs with the links of a Pharaoh file, a line for each.

    The file links words between white space; they become links of the words that `split_words` finds.

    Args:
        pairs: The pairs.
        path: The file.
        key: The configuration key that names it, for messages.
        exactly: Whether more lines than pairs are an error.

    Raises:
        InputError: The file is wrong, or not of these pairs.
    """
    lines = read_lines(path)
    if len(lines) < len(pairs) or (exactly and len(lines) > len(pairs)):
        raise InputError(
            f"{key}={path} has {len(lines):,} lines for {len(pairs):,} pairs: line n is of pair n, so that "
            "nothing may be held out of the training files"
        )
    found = []
    for number, (pair, line) in enumerate(zip(pairs, lines, strict=False), start=1):
        try:
            gold = parse_gold(line)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
        sides = [_parts(text.split()) for text in (pair.source, pair.target)]
        whole, sure = set(), set()
        for i, j in sorted(gold.possible):
            if i >= len(sides[0]) or j >= len(sides[1]):
                raise InputError(
                    f"{path}, line {number}: link {i}-{j} is outside the sentence pair of {len(sides[0])} "
                    f"and {len(sides[1])} words: count words between white space from 0"
                )
            # In "bushes." and "Büsche." the words and the full stops belong together. Of "bushes," and
            # "Büsche" the comma has no like: the link tells nothing sure of it.
            source, target = sides[0][i], sides[1][j]
            links = {(a, b): (x, y) for a, x in source.items() for b, y in target.items()}
            alike = {link for link, (x, y) in links.items() if x == y}
            kinds = set(source.values()), set(target.values())
            alone = {link for link, (x, y) in links.items() if x not in kinds[1] or y not in kinds[0]}
            whole |= alike | alone
            if (i, j) in gold.sure:
                sure |= alike or alone
        found.append(replace(pair, alignment=tuple(sorted(whole)), possible=tuple(sorted(whole - sure))))
    return found


def _parts(words: Sequence[str]) -> list[dict[int, bool]]:
    """Return the numbers of the words that `split_words` finds in each; False of punctuation."""
    parts = [[part[0].isalnum() for part in split_words(word)] for word in words]
    ends = accumulate(map(len, parts), initial=0)
    return [dict(enumerate(each, start)) for each, start in zip(parts, ends, strict=False)]
