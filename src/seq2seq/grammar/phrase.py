"""Phrases with two sides, and the templates that build them from smaller ones."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True, slots=True)
class Agreement:
    """What verbs, adjectives and pronouns agree with.

    Attributes:
        person: 1, 2 or 3.
        plural: number of the verb.
        feminine: French gender.
    """

    person: int
    plural: bool
    feminine: bool


Links = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words of both languages and which of them translate each other.

    Attributes:
        source: English words.
        target: French words, before elision and contraction.
        links: (source index, target index) pairs.
        possible: those of the links that are possible, not sure (Och and Ney 2003): of words that
            have no counterpart of their own, being part of an expression that is translated as a
            whole, or a function word that only one of the languages has.
        agreement: of noun phrases and pronouns.
        contents: the content words that the phrase is about, its head first.
        verb: source indices of the main verb.
        governed: target indices of words that only the French verb demands, such as the "besoin de"
            of "avoir besoin de"; they are linked with the verb where the two phrases meet.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: Links = frozenset()
    possible: Links = frozenset()
    agreement: Agreement | None = None
    contents: tuple[str, ...] = ()
    verb: tuple[int, ...] = ()
    governed: tuple[int, ...] = ()


EMPTY = Phrase((), ())


def agreement_of(phrase: Phrase) -> Agreement:
    """Agreement of a phrase that can be a subject.

    Raises:
        ValueError: it cannot.
    """
    if phrase.agreement is None:
        raise ValueError(f"{phrase.source} has no agreement")
    return phrase.agreement


Lexeme = Callable[[str, str], tuple[str, ...]]
"""(side, form) -> words, for a word that takes several forms; the first of them is its head."""


@cache
def word_pair(source: str, target: str) -> Phrase:
    """Words that translate each other: as a whole, or by link names, see `compose`."""
    if ":" in source + target:
        return compose(source, target, {})
    return linked(tuple(source.split()), tuple(target.split()))


def linked(source: tuple[str, ...], target: tuple[str, ...]) -> Phrase:
    """A phrase whose words are all linked with each other, surely if there is one a side."""
    links = frozenset((i, j) for i in range(len(source)) for j in range(len(target)))
    return Phrase(source, target, links, links if len(links) > 1 else frozenset())


@dataclass(slots=True)
class _Side:
    """One side of a phrase under construction."""

    words: list[str] = field(default_factory=list)
    phrase_starts: dict[str, int] = field(default_factory=dict)
    groups: dict[str, dict[int, bool]] = field(default_factory=dict)
    """Words by link name; whether their links of that name are sure."""


def compose(
    source_template: str, target_template: str, slots: Mapping[str, Phrase | Lexeme]
) -> Phrase:
    """Fill a rule.

    A template is a row of ``word``, ``word:link``, ``SLOT`` and ``SLOT.form:link``. The links of a
    phrase in a slot are kept. Words and lexemes of one link name, by default their own, are linked
    across the sides; ``link?`` makes the links of its word possible ones, ``link,other`` gives it
    two names. Of a lexeme of several words the first has sure links.
    """
    source = _fill(source_template, "source", slots)
    target = _fill(target_template, "target", slots)
    links, possible = _slot_links(source, target, slots)
    for name in source.groups.keys() & target.groups.keys():
        for i, i_sure in source.groups[name].items():
            for j, j_sure in target.groups[name].items():
                links.add((i, j))
                if not (i_sure and j_sure):
                    possible.add((i, j))
    verb = _main_verb(source, slots)
    governed = {(i, j) for i in verb for j in _governed(target, slots)}
    return Phrase(
        tuple(source.words),
        tuple(target.words),
        frozenset(links | governed),
        frozenset(possible | governed),
        verb=verb,
    )


def _slot_links(
    source: _Side, target: _Side, slots: Mapping[str, Phrase | Lexeme]
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Links of the phrases in slots, and those of them that are possible."""
    links, possible = set(), set()
    for name in source.phrase_starts.keys() & target.phrase_starts.keys():
        phrase = slots[name]
        if isinstance(phrase, Phrase) and phrase.links:
            down, right = source.phrase_starts[name], target.phrase_starts[name]
            links |= {(down + i, right + j) for i, j in phrase.links}
            possible |= {(down + i, right + j) for i, j in phrase.possible}
    return links, possible


def _main_verb(source: _Side, slots: Mapping[str, Phrase | Lexeme]) -> tuple[int, ...]:
    """Source indices of the slot V, or of the verb in the slot VG."""
    if "V" in source.groups:
        return tuple(source.groups["V"])
    group = slots.get("VG")
    if "VG" not in source.phrase_starts or not isinstance(group, Phrase):
        return ()
    return tuple(source.phrase_starts["VG"] + index for index in group.verb)


def _governed(target: _Side, slots: Mapping[str, Phrase | Lexeme]) -> Iterator[int]:
    for name, start in target.phrase_starts.items():
        phrase = slots[name]
        if isinstance(phrase, Phrase):
            yield from (start + index for index in phrase.governed)


@dataclass(frozen=True, slots=True)
class _Item:
    """What stands between two spaces of a template; link names, each with whether it is sure."""

    text: str
    name: str
    form: str
    links: tuple[tuple[str, bool], ...]


@cache
def _items(template: str) -> list[_Item]:
    items = []
    for item in template.split():
        text, _, link = item.partition(":")
        name, _, form = text.partition(".")
        labels = link.split(",") if link else [name or text]
        links = [
            (label.removesuffix("?") or label, label == "?" or not label.endswith("?"))
            for label in labels
        ]
        items.append(_Item(text, name, form, tuple(links)))
    return items


def _fill(template: str, side: str, slots: Mapping[str, Phrase | Lexeme]) -> _Side:
    filled = _Side()
    for item in _items(template):
        filler = slots.get(item.name)
        start = len(filled.words)
        if filler is None:
            # a full stop is a word, not a form
            filled.words.append(item.text)
        elif isinstance(filler, Phrase):
            filled.words += filler.source if side == "source" else filler.target
            filled.phrase_starts[item.name] = start
            continue
        else:
            filled.words += filler(side, item.form)
        for label, sure in item.links:
            group = filled.groups.setdefault(label, {})
            for index in range(start, len(filled.words)):
                group[index] = index == start and sure
    return filled
