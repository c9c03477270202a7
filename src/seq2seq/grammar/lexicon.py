"""The words of the grammar, read from lexicon.yaml."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seq2seq.errors import InputError
from seq2seq.grammar.inflection import (
    english_past,
    english_s,
    french_er_verb,
    french_feminine,
    french_plural,
)
from seq2seq.storage.plain_yaml import load_plain_yaml


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun: (singular, plural) in both languages."""

    source: tuple[str, str]
    target: tuple[str, str]
    feminine: bool
    kind: str


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective; `target` holds masculine, before a vowel, feminine, and the two plurals."""

    source: str
    comparative: str | None
    target: tuple[str, str, str, str, str]
    precedes: bool
    kinds: frozenset[str]

    def form(self, *, plural: bool, feminine: bool) -> str:
        """The French form that agrees."""
        masculine, _, feminine_form, masculine_plural, feminine_plural = self.target
        if plural:
            return feminine_plural if feminine else masculine_plural
        return feminine_form if feminine else masculine


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb.

    Attributes:
        base: English infinitive.
        third: English third person singular.
        infinitive: French infinitive.
        finite: French je, il, nous, vous, ils.
        participle: French past participle.
        past: English past; None where the verb is not used in the past.
        negative: English negative (modals), or None.
        kinds: kinds of nouns that it takes as its object.
        preposition: what stands before the object, in both languages; None for a direct object.
    """

    base: str
    third: str
    infinitive: str
    finite: tuple[str, ...]
    participle: str
    past: str | None = None
    negative: str | None = None
    kinds: frozenset[str] = frozenset()
    preposition: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Determiner:
    """A determiner: English (singular, plural); French (masculine, feminine, plural)."""

    name: str
    source: tuple[str | None, str | None]
    target: tuple[str | None, str | None, str | None]
    weight: float


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All words of the grammar. The plain mappings are English -> French."""

    nouns: tuple[Noun, ...]
    names: tuple[tuple[str, bool], ...]
    adjectives: tuple[Adjective, ...]
    transitive: tuple[Verb, ...]
    prepositional: tuple[Verb, ...]
    intransitive: tuple[Verb, ...]
    modals: tuple[Verb, ...]
    auxiliaries: dict[str, Verb]
    determiners: tuple[Determiner, ...]
    pronouns: dict[str, dict[str, Any]]
    clitics: dict[str, dict[str, str]]
    adverbs: dict[str, str]
    times: dict[str, dict[str, str]]
    places: dict[str, str]


def load_lexicon(path: Path) -> Lexicon:
    """Read lexicon.yaml.

    Raises:
        InputError: it cannot be read, or an entry is missing or malformed.
    """
    data = load_plain_yaml(path)
    try:
        return _lexicon(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{path}: malformed entry ({reason})") from error


def _lexicon(data: Any) -> Lexicon:
    conjugation, verbs = data["conjugation"], data["verbs"]

    def rows(group: str) -> tuple[Verb, ...]:
        make = _prepositional if group == "prepositional" else _verb
        return tuple(
            make(source, target, conjugation, frozenset(row["objects"]))
            for row in verbs[group]
            for source, target in row["verbs"].items()
        )

    return Lexicon(
        nouns=tuple(_nouns(data["nouns"])),
        names=tuple((n, gender == "f") for gender, names in data["names"].items() for n in names),
        adjectives=tuple(_adjectives(data["adjectives"], data["adjective_classes"])),
        transitive=rows("transitive"),
        prepositional=rows("prepositional"),
        intransitive=tuple(
            _verb(source, target, conjugation)
            for row in verbs["intransitive"]
            for source, target in row.items()
        ),
        modals=tuple(_modal(source, row, conjugation) for source, row in data["modals"].items()),
        auxiliaries={name: _verb(name, name, conjugation) for name in ("être", "avoir", "aller")},
        determiners=tuple(
            Determiner(name, tuple(row["source"]), tuple(row["target"]), row["weight"])
            for name, row in data["determiners"].items()
        ),
        pronouns=data["pronouns"],
        clitics=data["clitics"],
        adverbs=data["adverbs"],
        times=data["times"],
        places=data["places"],
    )


def _with_default(forms: str, derive: Callable[[str], str]) -> tuple[str, str]:
    """ "a/b" -> (a, b); "a" -> (a, the regular form)."""
    first, _, second = forms.partition("/")
    return first, second or derive(first)


def _nouns(data: dict[str, dict[str, dict[str, str]]]) -> Iterator[Noun]:
    for kind, genders in data.items():
        for gender, words in genders.items():
            for source, target in words.items():
                yield Noun(
                    source=_with_default(source, english_s),
                    target=_with_default(target, french_plural),
                    feminine=gender == "f",
                    kind=kind,
                )


def _adjectives(
    data: dict[str, dict[str, dict[str, str]]], classes: dict[str, list[str]]
) -> Iterator[Adjective]:
    for place, groups in data.items():
        for group, words in groups.items():
            for source, target in words.items():
                positive, _, comparative = source.partition("/")
                yield Adjective(
                    source=positive,
                    comparative=comparative or None,
                    target=_adjective_forms(target),
                    precedes=place == "before",
                    kinds=frozenset(classes[group]),
                )


def _adjective_forms(forms: str) -> tuple[str, str, str, str, str]:
    match forms.split("/"):
        case [masculine]:
            feminine = french_feminine(masculine)
        case [masculine, feminine]:
            pass
        case [masculine, before_vowel, feminine, masculine_plural, feminine_plural]:
            return masculine, before_vowel, feminine, masculine_plural, feminine_plural
        case _:
            raise ValueError(f"an adjective has one, two or five forms, not {forms!r}")
    return masculine, masculine, feminine, french_plural(masculine), french_plural(feminine)


def _verb(
    source: str, target: str, conjugation: dict[str, list[str]], kinds: frozenset[str] = frozenset()
) -> Verb:
    """A verb from "english[/past]"; the first English word is the one that is inflected."""
    base, _, given_past = source.partition("/")
    head, _, rest = base.partition(" ")
    past = None if given_past == "-" else given_past or english_past(head)
    *finite, participle = _conjugated(target, conjugation)
    return Verb(
        base=base,
        third=_phrase(english_s(head), rest),
        infinitive=target,
        finite=tuple(finite),
        participle=participle,
        past=None if past is None else _phrase(past, rest),
        kinds=kinds,
    )


def _prepositional(
    source: str, target: str, conjugation: dict[str, list[str]], kinds: frozenset[str]
) -> Verb:
    """A verb whose French object has a preposition: "talk to": "parler à"."""
    base, slash, past = source.partition("/")
    source_head, _, source_rest = base.partition(" ")
    target_head, _, target_rest = target.partition(" ")
    verb = _verb(source_head + slash + past, target_head, conjugation, kinds)
    return replace(verb, preposition=(source_rest, target_rest))


def _modal(source: str, row: dict[str, str], conjugation: dict[str, list[str]]) -> Verb:
    verb = _verb(source, row["target"], conjugation)
    return replace(verb, third=row["third"], past=None, negative=row["negative"])


def _conjugated(infinitive: str, conjugation: dict[str, list[str]]) -> list[str]:
    """[je, il, nous, vous, ils, participle]."""
    if infinitive in conjugation:
        return conjugation[infinitive]
    if not infinitive.endswith("er"):
        raise ValueError(f"conjugation of {infinitive!r} is missing")
    return french_er_verb(infinitive)


def _phrase(word: str, rest: str) -> str:
    return f"{word} {rest}" if rest else word
