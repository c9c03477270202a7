"""Phrases with two sides, and the templates that build them from smaller ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


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


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words of both languages and which of them translate each other.

    Attributes:
        source: English words.
        target: French words, before elision and contraction.
        links: (source index, target index) pairs.
        agreement: of noun phrases and pronouns.
        contents: the content words that the phrase is about, its head first.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    agreement: Agreement | None = None
    contents: tuple[str, ...] = ()


EMPTY = Phrase((), (), ())

Lexeme = Callable[[str, str], tuple[str, ...]]
"""(side, form) -> words, for a word that takes several forms."""


def word_pair(source: str, target: str) -> Phrase:
    """Words that translate each other as a whole."""
    return linked(tuple(source.split()), tuple(target.split()))


def linked(source: tuple[str, ...], target: tuple[str, ...]) -> Phrase:
    """A phrase whose words are all linked with each other."""
    links = tuple((i, j) for i in range(len(source)) for j in range(len(target)))
    return Phrase(source, target, links)


@dataclass(slots=True)
class _Side:
    """One side of a phrase under construction."""

    words: list[str] = field(default_factory=list)
    phrase_starts: dict[str, int] = field(default_factory=dict)
    groups: dict[str, list[int]] = field(default_factory=dict)


def compose(
    source_template: str,
    target_template: str,
    slots: Mapping[str, Phrase | Lexeme],
) -> Phrase:
    """Fill a rule.

    A template is a row of ``word``, ``word:link``, ``SLOT`` and ``SLOT.form:link``. The links of a
    phrase in a slot are kept. Words and lexemes of one link name, by default their own, are linked
    across the sides.
    """
    source = _fill(source_template, "source", slots)
    target = _fill(target_template, "target", slots)
    links = {
        (source.phrase_starts[name] + i, target.phrase_starts[name] + j)
        for name in source.phrase_starts.keys() & target.phrase_starts.keys()
        for i, j in _links(slots[name])
    }
    links |= {
        (i, j)
        for name in source.groups.keys() & target.groups.keys()
        for i in source.groups[name]
        for j in target.groups[name]
    }
    return Phrase(tuple(source.words), tuple(target.words), tuple(sorted(links)))


def _links(filler: Phrase | Lexeme) -> tuple[tuple[int, int], ...]:
    return filler.links if isinstance(filler, Phrase) else ()


def _fill(template: str, side: str, slots: Mapping[str, Phrase | Lexeme]) -> _Side:
    filled = _Side()
    for item in template.split():
        text, _, link = item.partition(":")
        name, _, form = text.partition(".")
        filler = slots.get(name)
        start = len(filled.words)
        if filler is None:
            # a full stop is a word, not a form
            filled.words.append(text)
        elif isinstance(filler, Phrase):
            filled.words += filler.source if side == "source" else filler.target
            filled.phrase_starts[name] = start
            continue
        else:
            filled.words += filler(side, form)
        indices = range(start, len(filled.words))
        filled.groups.setdefault(link or name or text, []).extend(indices)
    return filled
