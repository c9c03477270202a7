"""Pairs that are alike: repeated ones, those that a training has seen, those of odd lengths, and near-copies held out together.

A pair is a tuple of two texts. One that has no text on a side is blank.
"""

import math
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from statistics import median

import regex

from bitext.files import has_text
from bitext.pair import FormatError, counted

Texts = tuple[str, str]

SHORT = 20
"""Characters of the longer side from which on lengths are compared."""


def normalize(sentence: str) -> str:
    """Return a sentence in lower case without punctuation, spaces and control characters, to compare near-copies."""
    return regex.sub(r"[\p{P}\p{Z}\p{C}]+", "", sentence.casefold()) or sentence


def repeats(items: Iterable[Hashable]) -> list[bool]:
    """Return for each item whether an earlier one equals it."""
    firsts: dict[Hashable, int] = {}
    return [firsts.setdefault(item, place) != place for place, item in enumerate(items)]


def same_sides(pairs: Sequence[Texts]) -> list[bool]:
    """Return for each pair whether both sides are the same, see `normalize`; a blank one has none."""
    return [normalize(a) == normalize(b) and has_text(a) and has_text(b) for a, b in pairs]


def odd_ratios(pairs: Sequence[Texts], max_ratio: float) -> list[bool]:
    """Return for each pair whether its lengths in characters have an unusual ratio.

    It is more than `max_ratio` times the usual one, the median, or so many times smaller; of pairs with `SHORT` characters on
    a side.
    """
    is_long = [max(map(len, pair)) >= SHORT for pair in pairs]
    ratios = [math.log((len(source) + 1) / (len(target) + 1)) for source, target in pairs]
    usual = median([each for each, long in zip(ratios, is_long, strict=True) if long] or [0.0])
    return [
        long and abs(each - usual) > math.log(max_ratio) for each, long in zip(ratios, is_long, strict=True)
    ]


def seen_pairs(train: Iterable[Texts], other: Sequence[Texts], *, both_ways: bool = False) -> list[bool]:
    """Return for each of other pairs whether it is a training pair, `both_ways`: also turned round."""

    def compared(pair: Texts) -> tuple[str, ...]:
        return tuple(sorted(pair)) if both_ways else tuple(pair)

    own = [*map(compared, other)]
    seen = set(own).intersection(map(compared, train))
    return [pair in seen for pair in own]


def seen_sources(train: Iterable[Texts], other: Iterable[Texts], *, both_ways: bool = False) -> list[bool]:
    """Return for each of other pairs whether its source is a training source, see `normalize`, `both_ways`: or a target."""
    seen = {normalize(text) for pair in train for text in pair[: 1 + both_ways]}
    return [normalize(source) in seen for source, _ in other]


# --- pairs that are held out ---


def grouped(pairs: Iterable[Texts], *, by_both: bool = False) -> list[str]:
    """Return the group of each pair: those of one source, see `normalize`; no name for a blank pair.

    `by_both`: All that equal texts connect, whether source or target; the name is one of the texts.
    """
    parents: dict[str, str] = {}

    def first(text: str) -> str:
        while parents.setdefault(text, text) != text:
            parents[text] = text = parents[parents[text]]
        return text

    sides = [[normalize(text) for text in pair] if all(map(has_text, pair)) else ["", ""] for pair in pairs]
    for source, target in sides if by_both else ():
        kept, other = sorted((first(source), first(target)))
        parents[other] = kept
    return [first(source) for source, _ in sides]


def hold_out(groups: Sequence[str], count: int, seed: int, *, at_most: bool = False) -> list[bool]:
    """Return which pairs are held out, drawn at random by groups, of which each is held out whole or not at all.

    Args:
        groups: The group of each pair, see `grouped`, or its document. Pairs of no name are not held out.
        count: Number of pairs; a few more are held out.
        seed: Decides which.
        at_most: A few fewer are held out, and groups of more than `count` pairs, as frequent short sentences connect, are not.

    Raises:
        FormatError: There are too few groups: some pairs are held out, and some are not.
    """
    sizes = Counter(group for group in groups if group)
    names = sorted(sizes)
    random.Random(seed).shuffle(names)
    room = max(count, min(sizes.values(), default=0)) if at_most else len(groups)
    held, num_held = set[str](), 0
    for name in names:
        if held and num_held >= count:
            break
        if num_held + sizes[name] <= room:
            held.add(name)
            num_held += sizes[name]
    if len(held) >= len(names):
        which = "too few without a sentence in common" if at_most else "too few"
        raise FormatError(
            f"{counted(len(groups), 'training pair')}: {which} to hold out {max(count, 1):,} of them: give more pairs"
        )
    return [group in held for group in groups]


def in_file_order(pairs: Sequence[Texts], sizes: tuple[int, int, int]) -> list[list[int]]:
    """Return the places of training, validation and test pairs, consecutive splits of the given sizes.

    A split leaves out pairs whose source is in an earlier split, compared by `normalize`; all but the first leave out blank
    pairs.

    Raises:
        FormatError: There are too few pairs.
    """
    splits, used, rest = list[list[int]](), set[str](), iter(enumerate(pairs))
    for size in sizes:
        new = (place for place, pair in rest if normalize(pair[0]) not in used)
        split = list(islice((place for place in new if not splits or all(map(has_text, pairs[place]))), size))
        if len(split) < size:
            raise FormatError(
                f"{counted(len(pairs), 'pair')}: too few for {sizes[0]:,} training, {sizes[1]:,} validation and "
                f"{counted(sizes[2], 'test pair')}"
            )
        used |= {normalize(pairs[place][0]) for place in split}
        splits.append(split)
    return splits
