"""Variants of training pairs, for what a corpus of sentences teaches too little: names, figures, and what is no sentence.

- The most frequent names give way to others, on both sides.
- Figures are exchanged, the same way on both sides, so that a model learns to copy them.
- English sentences without their final mark and without capitals, as people type them.
- Phrases of one to five words that agree with the word alignment (Koehn et al. 2003, section 3).
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

Pair = tuple[str, str]
Table = dict[str, dict[str, float]]

WORD = re.compile(r"[^\W\d_]+(?:['’](?:[^\W\d_]+|$))?|\d+(?:[.,:]\d+)*")
"""A word of English, with what follows its apostrophe; or a figure."""
OTHER_WORD = re.compile(r"[^\W\d_]+['’]?|\d+(?:[.,:]\d+)*")
"""A word of the other language: l'ami is two; or a figure."""
PART = re.compile(r"[\w'’-]")
"""What follows where a word does not end."""

NAMES = 0.7
"""Share of the pairs with a frequent name in which it gives way."""
UNMARKED = 0.08
"""Share of the pairs that have a copy without final mark."""
PHRASES = 0.08
"""Phrases for each pair."""


def renamed(pair: Pair, lists: dict[str, list[str]], draw: random.Random) -> Pair:
    """Return a pair with another name for Tom or Mary where both sides have it, but for a genitive."""
    source, target = pair
    for name, others in (("Tom", lists["man"]), ("Mary", lists["woman"])):
        pattern = re.compile(rf"\b{name}\b(?!['’-]\w)")
        is_same = len(pattern.findall(source)) == len(pattern.findall(target)) == 1
        if is_same and not re.search(rf"{name}['’-]?s\b", source + target) and draw.random() < NAMES:
            other = draw.choice(others)
            source, target = pattern.sub(other, source), pattern.sub(other, target)
    return source, target


def refigured(pairs: Iterable[Pair], draw: random.Random) -> Iterator[Pair]:
    """Return copies of the pairs that have the same figures on both sides, two for each digit, with other digits; 0 stays."""
    for source, target in pairs:
        found = re.findall(r"\d", source)
        if found and found == re.findall(r"\d", target):
            for _ in range(2 * len(found)):
                table = str.maketrans("123456789", "".join(draw.sample("123456789", 9)))
                yield source.translate(table), target.translate(table)


def links(
    source: Sequence[str], target: Sequence[str], forward: Table, backward: Table
) -> set[tuple[int, int]]:
    """Return the links on which both directions of model 1 agree."""
    to_target = {
        (max(range(len(source)), key=lambda i: forward.get(source[i], {}).get(word, 0.0)), j)
        for j, word in enumerate(target)
    }
    to_source = {
        (i, max(range(len(target)), key=lambda j: backward.get(target[j], {}).get(word, 0.0)))
        for i, word in enumerate(source)
    }
    return to_target & to_source


def consistent(
    alignment: set[tuple[int, int]], length: int, longest: int = 5
) -> Iterator[tuple[int, int, int, int]]:
    """Return spans of source and target, the ends excluded, that no link leaves and whose outer words are linked."""
    for start in range(length):
        for stop in range(start + 1, min(start + longest, length) + 1):
            inside = [j for i, j in alignment if start <= i < stop]
            ends = {i for i, _ in alignment} >= {start, stop - 1}
            if not inside or not ends:
                continue
            low, high = min(inside), max(inside) + 1
            if high - low <= longest + 2 and all(start <= i < stop for i, j in alignment if low <= j < high):
                yield start, stop, low, high


def whole(text: str, start: int, stop: int) -> str:
    """Return a piece of a text that is whole words without signs between them, else nothing."""
    cut = text[:start].endswith("-") or PART.match(text, stop) or re.search(r"[^\w\s'’-]", text[start:stop])
    return "" if cut else text[start:stop]


def phrases(
    pairs: Sequence[Pair], tables: tuple[Table, Table], number: int, draw: random.Random
) -> list[Pair]:
    """Return frequent phrases with their usual translation; none ends with one of the sixty most frequent words."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    usual = Counter(word for source, _ in pairs for word in WORD.findall(source))
    function = {word.lower() for word, _ in usual.most_common(60)}
    for source, target in pairs:
        sides = [list(WORD.finditer(source)), list(OTHER_WORD.finditer(target))]
        left, right = [[each[0].lower() for each in side] for side in sides]
        if not left or not right:
            continue
        for start, stop, low, high in consistent(links(left, right, *tables), len(left)):
            text = whole(source, sides[0][start].start(), sides[0][stop - 1].end())
            other = whole(target, sides[1][low].start(), sides[1][high - 1].end())
            begins = (start == 0) == (low == 0)  # else an article or a pronoun may be left out
            if text and other and begins and left[stop - 1] not in function:
                if start == 0 and usual[text.split()[0].lower()] > usual[text.split()[0]]:
                    text, other = text[0].lower() + text[1:], other[0].lower() + other[1:]
                found[text][other] += 1
    chosen = [
        (text, best)
        for text, others in found.items()
        for best, count in others.most_common(1)
        if count >= 3 and count >= 0.5 * others.total()
    ]
    return draw.sample(chosen, min(number, len(chosen)))


def varied(
    pairs: Sequence[Pair], tables: tuple[Table, Table], lists: dict[str, list[str]], draw: random.Random
) -> list[Pair]:
    """Return pairs with names exchanged, and the other variants."""
    found = [renamed(pair, lists, draw) for pair in pairs]
    unmarked = [
        (source.rstrip(".?! "), target) for source, target in draw.sample(found, int(UNMARKED * len(found)))
    ]
    lower = [
        (source.lower(), target) for source, target in draw.sample(found, int(UNMARKED * len(found) / 2))
    ]
    more = phrases(pairs, tables, int(PHRASES * len(pairs)), draw)
    return [*found, *unmarked, *lower, *refigured(pairs, draw), *more]
