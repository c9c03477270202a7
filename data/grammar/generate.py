"""Make the built-in English-French corpus from ``lexicon.yaml`` and ``rules.yaml``.

    python data/grammar/generate.py                                        the file that comes along
    python data/grammar/generate.py -o large.tsv.xz --train 200000         a larger one
    python train.py data.file=large.tsv.xz

Both sides of a sentence are made together by a synchronous grammar, so that its word alignment is known. Every
combination of two content words, such as a verb and its object, belongs to one split by a hash of its words: a
test sentence holds at least one combination that no training sentence holds. A line of the file is split,
source, target and links, ``i-j`` sure and ``i?j`` possible (Och and Ney 2003), separated by tabs.
"""

import argparse
import lzma
import random
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar

import yaml

from seq2seq.data.text import join_words

FOLDER = Path(__file__).parent


# --- inflection ---


ENGLISH_SIBILANT = re.compile(r"(s|x|ch|sh)$")
CONSONANT_Y = re.compile(r"([^aeiou])y$")
ENGLISH_VOWEL = re.compile(r"[aeiou]")


def english_s(word: str) -> str:
    """Plural of a noun, or third person of a verb."""
    if word.endswith("o") and word != "piano":
        return f"{word}es"
    if ENGLISH_SIBILANT.search(word):
        return f"{word}es"
    return CONSONANT_Y.sub(r"\1ie", word) + "s"


def english_past(word: str) -> str:
    """Past of a regular verb."""
    return CONSONANT_Y.sub(r"\1i", word).removesuffix("e") + "ed"


def english_article(next_word: str) -> str:
    """The indefinite article before a word; no word of the lexicon begins with a silent h."""
    return "an" if ENGLISH_VOWEL.match(next_word.lower()) and next_word != "useful" else "a"


def french_plural(word: str) -> str:
    """Plural of a noun or adjective, of its first word in a compound."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("eau"):
        return f"{word}x"
    if word.endswith("al"):
        return word.removesuffix("al") + "aux"
    return f"{word}s"


def french_feminine(word: str) -> str:
    """Feminine of a regular adjective."""
    return word if word.endswith("e") else f"{word}e"


def french_er_verb(infinitive: str) -> list[str]:
    """[je, il, nous, vous, ils, participle] of a regular verb in -er."""
    stem = infinitive.removesuffix("er")
    return [f"{stem}{ending}" for ending in ("e", "e", "ons", "ez", "ent", "é")]


# --- the lexicon ---


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
    """Read lexicon.yaml."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
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


# --- phrases of two sides ---


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


def compose(source_template: str, target_template: str, slots: Mapping[str, Phrase | Lexeme]) -> Phrase:
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
            (label.removesuffix("?") or label, label == "?" or not label.endswith("?")) for label in labels
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


# --- French spelling at word borders ---


VOWELS = "aeiouyàâéèêëîïôûùœæ"
ELIDED = {"le": "l'", "la": "l'", "je": "j'", "ne": "n'", "que": "qu'", "de": "d'", "me": "m'"}
BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "sa": "son"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def begins_with_vowel(word: str) -> bool:
    """Whether a word makes the one before it elide; every h of the lexicon is mute."""
    first = word[0].lower()
    return first in VOWELS or first == "h"


def spell(phrase: Phrase) -> Phrase:
    """Apply elision and contraction to the French side; contracted words share their links."""
    words = list(phrase.target)
    for index in range(len(words) - 1):
        if begins_with_vowel(words[index + 1]):
            word = words[index]
            words[index] = ELIDED.get(word, BEFORE_VOWEL.get(word, word))
    return _contract(phrase, words)


def _contract(phrase: Phrase, words: list[str]) -> Phrase:
    kept: list[str] = []
    places: list[int] = []  # of each old word among the kept ones
    for word in words:
        contracted = CONTRACTED.get((kept[-1], word)) if kept else None
        if contracted is None:
            kept.append(word)
        else:
            kept[-1] = contracted
        places.append(len(kept) - 1)
    links = frozenset((i, places[j]) for i, j in phrase.links)
    sure = frozenset((i, places[j]) for i, j in phrase.links - phrase.possible)
    return replace(phrase, target=tuple(kept), links=links, possible=links - sure)


# --- forms of verbs ---


def _is_third_singular(agreement: Agreement) -> bool:
    return agreement.person == 3 and not agreement.plural


def _finite_index(agreement: Agreement) -> int:
    """Place among je, il, nous, vous, ils."""
    if agreement.person == 1:
        return 2 if agreement.plural else 0
    if agreement.person == 2:
        return 3
    return 4 if agreement.plural else 1


def verb_forms(verb: Verb, agreement: Agreement) -> Lexeme:
    """`agree`, `base`, `past`, `not` in English; `agree`, `infinitive`, `participle` in French."""
    forms = {
        ("source", "agree"): verb.third if _is_third_singular(agreement) else verb.base,
        ("source", "base"): verb.base,
        ("source", "past"): verb.past,
        ("source", "not"): verb.negative,
        ("target", "agree"): verb.finite[_finite_index(agreement)],
        ("target", "infinitive"): verb.infinitive,
        ("target", "participle"): verb.participle,
    }

    def form(side: str, name: str) -> tuple[str, ...]:
        words = forms[side, name]
        if words is None:
            raise ValueError(f"{verb.base} has no form {name}")
        return tuple(words.split())

    return form


def auxiliary(verb: Verb, agreement: Agreement) -> Lexeme:
    """The finite form of a French auxiliary."""
    return lambda _side, _form: (verb.finite[_finite_index(agreement)],)


def do(agreement: Agreement) -> Lexeme:
    """Do or does; `not`: the don' or doesn' before t."""
    word = "does" if _is_third_singular(agreement) else "do"
    return lambda _side, form: (f"{word}n'" if form == "not" else word,)


def be(agreement: Agreement) -> Lexeme:
    """am, is or are."""
    if agreement.person == 1 and not agreement.plural:
        word = "am"
    else:
        word = "is" if _is_third_singular(agreement) else "are"
    return lambda _side, _form: (word,)


# --- random phrases, clauses and sentences ---


T = TypeVar("T")


class Rule(TypedDict):
    """A template of both languages."""

    source: str
    target: str
    weight: NotRequired[float]
    tense: NotRequired[str]
    negated: NotRequired[bool]


Rules = dict[str, dict[str, Rule]]
Combination = tuple[str, str]
"""Two content words that a sentence puts together."""

SPECIFIC = ("definite", "this", "my", "your", "his", "her", "our", "their")
"""Determiners that stay the same under negation and after "de"."""
COUNTED = ("indefinite", "many", "several", "two", "three", "four", "five", "ten")
"""Determiners of what exists somewhere."""


SAME_PERSON = {("I", "me"), ("I", "us"), ("we", "us"), ("we", "me"), ("you", "you")}
ONLY_HUMAN = frozenset({"text", "clothing", "thing", "vehicle", "part"})
"""What animals do not handle."""
CAN_SEE = ("person", "animal", "thing", "clothing", "vehicle", "place", "food", "text")


JOINING = ("and", "but", "because")
"""Sentences of two clauses."""


class Sentences:
    """Makes random sentences, and tells which content words each combines.

    Args:
        lexicon: the words.
        rules: the templates of rules.yaml.
        generator: the source of randomness.
    """

    def __init__(self, lexicon: Lexicon, rules: Rules, generator: random.Random) -> None:
        self.lexicon, self.rules = lexicon, rules
        self._random = generator
        self.combinations: set[Combination] = set()
        self._by_kind: dict[str, list[Noun]] = {}
        for noun in lexicon.nouns:
            self._by_kind.setdefault(noun.kind, []).append(noun)
        self._adjectives = {
            kind: [adjective for adjective in lexicon.adjectives if kind in adjective.kinds]
            for kind in self._by_kind
        }

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self._random.random() < probability

    def choice(self, options: Sequence[T]) -> T:
        """One of the options."""
        return self._random.choice(options)

    def actor(self, *, human: bool) -> tuple[Phrase, str]:
        """A pronoun, a name or a noun phrase that can act, and its kind; animals if not `human`."""
        draw = self._random.random()
        if draw < 0.3:
            return self.pronoun(), "person"
        if draw < 0.4:
            return self.name(), "person"
        kind = "animal" if draw > 0.85 and not human else "person"
        phrase = self.noun_phrase([kind])
        if kind == "person" and self.chance(0.08):
            phrase = self.pair(phrase, self.name())
        return phrase, kind

    def pronoun(self) -> Phrase:
        """A subject pronoun."""
        word, row = self.choice(list(self.lexicon.pronouns.items()))
        agreement = Agreement(row["person"], row["number"] == "p", row["gender"] == "f")
        return replace(word_pair(word, row["target"]), agreement=agreement)

    def name(self) -> Phrase:
        """A person's name, the same in both languages."""
        word, feminine = self.choice(self.lexicon.names)
        return replace(word_pair(word, word), agreement=Agreement(3, plural=False, feminine=feminine))

    def pair(self, first: Phrase, second: Phrase) -> Phrase:
        """Two phrases joined by "and"; feminine only where both are."""
        rule = self.rules["noun_phrases"]["and"]
        joined = compose(rule["source"], rule["target"], {"NP": first, "SECOND": second})
        feminine = agreement_of(first).feminine and agreement_of(second).feminine
        return replace(
            joined, agreement=Agreement(3, plural=True, feminine=feminine), contents=first.contents
        )

    def noun_phrase(
        self, kinds: Collection[str], determiners: Sequence[str] | None = None, *, bare: bool = False
    ) -> Phrase:
        """A determiner, adjectives and a noun of one of the kinds.

        Args:
            kinds: kinds of nouns.
            determiners: their names; None for all.
            bare: without adjectives and complements.
        """
        kind = self.choice(sorted(kinds))
        noun = self.choice(self._by_kind[kind])
        determiner, plural = self._determiner(determiners)
        pre, post = (None, None) if bare else self._pick_adjectives(kind)
        phrase = self._assemble(noun, determiner, pre, post, plural=plural)
        if kind == "part":
            phrase = self._with_owner(phrase)
        return phrase

    def _determiner(self, names: Sequence[str] | None) -> tuple[Determiner, bool]:
        """A determiner, and whether it is used in the plural."""
        allowed = [d for d in self.lexicon.determiners if names is None or d.name in names]
        determiner = self._random.choices(allowed, [d.weight for d in allowed])[0]
        if determiner.source[0] is None or determiner.source[1] is None:
            return determiner, determiner.source[0] is None
        return determiner, self.chance(0.3)

    def _pick_adjectives(self, kind: str) -> tuple[Adjective | None, Adjective | None]:
        """At most one adjective before and one after the French noun."""
        if not self._adjectives[kind] or not self.chance(0.4):
            return None, None
        first = self.choice(self._adjectives[kind])
        others = [a for a in self._adjectives[kind] if a.precedes != first.precedes]
        second = self.choice(others) if others and self.chance(0.15) else None
        return (first, second) if first.precedes else (second, first)

    def _assemble(
        self,
        noun: Noun,
        determiner: Determiner,
        pre: Adjective | None,
        post: Adjective | None,
        *,
        plural: bool,
    ) -> Phrase:
        agreement = Agreement(3, plural=plural, feminine=noun.feminine)
        noun_words = word_pair(noun.source[plural], noun.target[plural])
        # English puts both adjectives before the noun, those of size and age first
        slots = {
            "NOUN": noun_words,
            "PRE": _attributive(pre, agreement, noun_words.target[0]),
            "POST": _attributive(post, agreement, ""),
        }
        next_source = (slots["PRE"].source + slots["POST"].source + noun_words.source)[0]
        slots["DET"] = _determiner_words(determiner, agreement, next_source, pre=pre)
        rule = self.rules["noun_phrases"]["noun"]
        phrase = compose(rule["source"], rule["target"], slots)
        adjectives = tuple(adjective.source for adjective in (pre, post) if adjective)
        return replace(phrase, agreement=agreement, contents=(noun.source[0], *adjectives))

    def _with_owner(self, phrase: Phrase) -> Phrase:
        owner = self.noun_phrase(["place"], ("definite", "this", "my", "your", "our"), bare=True)
        rule = self.rules["noun_phrases"]["part"]
        joined = compose(rule["source"], rule["target"], {"NP": phrase, "OWNER": owner})
        return replace(
            joined,
            agreement=phrase.agreement,
            contents=(phrase.contents[0], owner.contents[0], *phrase.contents[1:]),
        )

    def predicate(self, kind: str, subject: Phrase, *, compared: bool = False) -> Adjective:
        """An adjective that can be said of a subject of a kind, other than those it has."""
        fitting = [
            adjective
            for adjective in self._adjectives[kind]
            if (adjective.comparative or not compared) and adjective.source not in subject.contents
        ]
        return self.choice(fitting)

    # --- clauses ---

    def weighted(self, group: str, allowed: Sequence[str] | None = None) -> tuple[str, Rule]:
        """One of the rules of a group, by weight, and its name."""
        rules = self.rules[group]
        names = [name for name in rules if allowed is None or name in allowed]
        name = self._random.choices(names, [rules[name]["weight"] for name in names])[0]
        return name, rules[name]

    def note(self, head: str | None, *others: str) -> None:
        """Remember which content words come together."""
        if head is not None:
            self.combinations.update((head, other) for other in others)

    def noted(self, phrase: Phrase) -> Phrase:
        """The phrase itself, its combinations noted."""
        if phrase.contents:
            self.note(*phrase.contents)
        return phrase

    def clause(self, *, plain: bool = False) -> Phrase:
        """A clause; a plain one has no object pronoun and no relative clause."""
        name, rule = self.weighted("clauses")
        match name:
            case "existential":
                return self._existential(rule)
            case "copula" | "copula_not" | "comparative" | "equal":
                return self._copula(name, rule)
            case "intransitive":
                return self._verbal(rule, self.choice(self.lexicon.intransitive))
        if self.chance(0.2):
            return self._verbal(rule, self.choice(self.lexicon.prepositional))
        verb = self.choice(self.lexicon.transitive)
        subject, _ = self.subject(plain=plain, human=is_human(verb))
        clitic = EMPTY
        if not plain and self.chance(0.25):
            clitic = self.clitic(verb, subject)
        return self._verbal(rule, verb, subject=subject, clitic=clitic)

    def subject(self, *, plain: bool, human: bool) -> tuple[Phrase, str]:
        """A subject, perhaps with a relative clause unless `plain`, and its kind."""
        subject, kind = self.actor(human=human)
        self.noted(subject)
        if not plain and len(subject.contents) == 1 and self.chance(0.12):
            subject = self._relative(subject, kind)
        return subject, kind

    def _verbal(
        self, rule: Rule, verb: Verb, *, subject: Phrase | None = None, clitic: Phrase = EMPTY
    ) -> Phrase:
        """A clause around a verb."""
        subject = subject or self.subject(plain=False, human=is_human(verb))[0]
        group = self._verb_group(verb, clitic)
        target = EMPTY
        if verb.kinds and not clitic.source:
            target = self.object(verb, negated=group.get("negated", False))
        self.note(*subject.contents[:1], verb.base)
        place, time = self.circumstances(group["tense"])
        slots: dict[str, Phrase | Lexeme] = {
            "SUBJECT": subject,
            "VG": self.filled_group(group, verb, subject, clitic),
            "OBJECT": target,
            "PLACE": place,
            "TIME": time,
        }
        return compose(rule["source"], rule["target"], slots)

    def _verb_group(self, verb: Verb, clitic: Phrase) -> Rule:
        allowed = [
            name
            for name, rule in self.rules["verb_groups"].items()
            if (not clitic.source or "CLITIC" in rule["source"])
            and (rule["tense"] != "past" or verb.past is not None)
        ]
        return self.weighted("verb_groups", allowed)[1]

    def filled_group(self, group: Rule, verb: Verb, subject: Phrase, clitic: Phrase) -> Phrase:
        """A verb group around a verb."""
        agreement = agreement_of(subject)
        slots = self.verb_slots(verb, agreement, clitic)
        if "M.not" in group["source"]:
            modals = [modal for modal in self.lexicon.modals if modal.negative]
            slots["M"] = verb_forms(self.choice(modals), agreement)
        return compose(group["source"], group["target"], slots)

    def verb_slots(self, verb: Verb, agreement: Agreement, clitic: Phrase) -> dict[str, Phrase | Lexeme]:
        """What the verb slots of a rule are filled with."""
        adverb = EMPTY
        if self.chance(0.2):
            adverb = word_pair(*self.choice(list(self.lexicon.adverbs.items())))
        auxiliaries = self.lexicon.auxiliaries
        return {
            "V": verb_forms(verb, agreement),
            "M": verb_forms(self.choice(self.lexicon.modals), agreement),
            "CLITIC": clitic,
            "ADVERB": adverb,
            "DO": do(agreement),
            "BE": be(agreement),
            "AVOIR": auxiliary(auxiliaries["avoir"], agreement),
            "ALLER": auxiliary(auxiliaries["aller"], agreement),
        }

    def object(self, verb: Verb, *, negated: bool) -> Phrase:
        """A noun phrase that the verb takes, with the verb's preposition."""
        restricted = negated or verb.preposition is not None
        phrase = self.noted(self.noun_phrase(verb.kinds, SPECIFIC if restricted else None))
        self.note(verb.base, phrase.contents[0])
        if verb.preposition is None:
            return phrase
        preposition = word_pair(*verb.preposition)
        slots = {"PREPOSITION": preposition, "NP": phrase}
        composed = compose("PREPOSITION NP", "PREPOSITION NP", slots)
        if preposition.source:
            return composed
        return replace(composed, governed=tuple(range(len(preposition.target))))

    def circumstances(self, tense: str) -> tuple[Phrase, Phrase]:
        """A place and a time that go with a tense, either often empty."""
        place, time = EMPTY, EMPTY
        if self.chance(0.15):
            place = self._place()
        if self.chance(0.2):
            time = word_pair(*self.choice(list(self.lexicon.times[tense].items())))
        return place, time

    def _place(self) -> Phrase:
        preposition = word_pair(*self.choice(list(self.lexicon.places.items())))
        where = self.noun_phrase(["place"], SPECIFIC, bare=self.chance(0.7))
        slots = {"PREPOSITION": preposition, "NP": self.noted(where)}
        return compose("PREPOSITION NP", "PREPOSITION NP", slots)

    def clitic(self, verb: Verb, subject: Phrase) -> Phrase:
        """An object pronoun that the verb takes; "it" alone is masculine."""
        table = self.lexicon.clitics["person" if verb.kinds == {"person"} else "other"]
        words = [word for word in table if (subject.source[0], word) not in SAME_PERSON]
        word = self.choice(words)
        return word_pair(word, table[word])

    def _existential(self, rule: Rule) -> Phrase:
        phrase = self.noted(self.noun_phrase(CAN_SEE, COUNTED))
        slots: dict[str, Phrase | Lexeme] = {
            "BE": be(agreement_of(phrase)),
            "NP": phrase,
            "PLACE": self._place(),
        }
        return compose(rule["source"], rule["target"], slots)

    def _copula(self, name: str, rule: Rule) -> Phrase:
        compared = name in {"comparative", "equal"}
        if self.chance(0.6):
            subject, kind = self.subject(plain=True, human=False)
        else:
            kind = self.choice([k for k in CAN_SEE if k != "person"])
            subject = self.noted(self.noun_phrase([kind], SPECIFIC))
        adjective = self.predicate(kind, subject, compared=compared)
        other = EMPTY
        if compared:
            other = self.noted(self.noun_phrase([kind], SPECIFIC, bare=True))
        return self.said(rule, subject, adjective, other)

    def said(self, rule: Rule, subject: Phrase, adjective: Adjective, other: Phrase) -> Phrase:
        """Say an adjective of a subject."""
        self.note(*subject.contents[:1], adjective.source)
        agreement = agreement_of(subject)
        slots: dict[str, Phrase | Lexeme] = {
            "SUBJECT": subject,
            "BE": be(agreement),
            "ETRE": auxiliary(self.lexicon.auxiliaries["être"], agreement),
            "ADJECTIVE": _predicative(adjective, agreement),
            "NP": other,
        }
        return compose(rule["source"], rule["target"], slots)

    def _relative(self, noun: Phrase, kind: str) -> Phrase:
        """A noun phrase with a relative clause."""
        verbs = [verb for verb in self.lexicon.transitive if verb.kinds != {"part"}]
        if self.chance(0.5):
            fitting = [v for v in verbs if kind == "person" or not is_human(v)]
            verb = self.choice(fitting)
            self.note(noun.contents[0], verb.base)
            slots: dict[str, Phrase | Lexeme] = {
                "NP": noun,
                "REL": lambda _side, _form: ("who" if kind == "person" else "that",),
                "V": verb_forms(verb, agreement_of(noun)),
                "OBJECT": self.object(verb, negated=False),
            }
            rule = self.rules["noun_phrases"]["who"]
        else:
            verb = self.choice([verb for verb in verbs if kind in verb.kinds])
            self.note(verb.base, noun.contents[0])
            subject = self.pronoun() if self.chance(0.5) else self.name()
            slots = {"NP": noun, "SUBJECT": subject, "V": verb_forms(verb, agreement_of(subject))}
            rule = self.rules["noun_phrases"]["whom"]
        phrase = compose(rule["source"], rule["target"], slots)
        return replace(phrase, agreement=noun.agreement, contents=noun.contents)

    # --- sentences ---

    def sentence(self, num_clauses: int = 1) -> tuple[Phrase, set[Combination]]:
        """A sentence before French spelling, and the pairs of content words it combines.

        Args:
            num_clauses: clauses that are joined; 1: a sentence as any rule makes it.
        """
        self.combinations = set()
        if num_clauses > 1:
            return self._chain(num_clauses), self.combinations
        name, rule = self.weighted("sentences")
        match name:
            case "question":
                phrase = self._question()
            case "statement":
                phrase = self._join(rule, self.clause(), EMPTY)
            case _ if name != "because" and self.chance(0.7):
                phrase = self._join(rule, *self._antecedent(negated=name == "but"))
            case _:
                phrase = self._join(rule, self.clause(plain=True), self.clause(plain=True))
        return phrase, self.combinations

    def _chain(self, num_clauses: int) -> Phrase:
        """Clauses, each joined to those after it."""
        phrase = self.clause(plain=True)
        for place in range(1, num_clauses):
            _, rule = self.weighted("sentences", JOINING)
            if place < num_clauses - 1:
                rule = _without_stop(rule)
            phrase = self._join(rule, self.clause(plain=True), phrase)
        return phrase

    def _join(self, rule: Rule, first: Phrase, second: Phrase) -> Phrase:
        return compose(rule["source"], rule["target"], {"CLAUSE": first, "SECOND": second})

    def _antecedent(self, *, negated: bool) -> tuple[Phrase, Phrase]:
        """ "The key is small" / "I see it": the first clause decides the pronoun's gender."""
        verb = self.choice([v for v in self.lexicon.transitive if v.kinds != {"part"}])
        kind = self.choice(sorted(verb.kinds))
        noun = self.noted(self.noun_phrase([kind], SPECIFIC, bare=True))
        adjective = self.predicate(kind, noun)
        first = self.said(self.rules["clauses"]["copula"], noun, adjective, EMPTY)
        self.note(verb.base, noun.contents[0])
        groups = ["present_not", "future_not"] if negated else ["present", "future", "modal"]
        group = self.weighted("verb_groups", groups)[1]
        subject = self.pronoun()
        clitic = _referring(noun, person=kind == "person")
        rule = self.rules["clauses"]["transitive"]
        slots: dict[str, Phrase | Lexeme] = {
            "SUBJECT": subject,
            "VG": self.filled_group(group, verb, subject, clitic),
            "OBJECT": EMPTY,
            "PLACE": EMPTY,
            "TIME": EMPTY,
        }
        return first, compose(rule["source"], rule["target"], slots)

    def _question(self) -> Phrase:
        name, rule = self.weighted("questions")
        if name == "what":
            verb = self.choice([v for v in self.lexicon.transitive if "person" not in v.kinds])
        else:
            verbs = self.lexicon.transitive + self.lexicon.intransitive
            verb = self.choice([v for v in verbs if rule["tense"] != "past" or v.past])
        subject, _ = self.subject(plain=True, human=is_human(verb))
        self.note(*subject.contents[:1], verb.base)
        clitic = EMPTY
        if verb.kinds and "CLITIC" in rule["source"] and self.chance(0.25):
            clitic = self.clitic(verb, subject)
        slots = self.verb_slots(verb, agreement_of(subject), clitic)
        slots["SUBJECT"] = subject
        takes_object = bool(verb.kinds) and name != "what" and not clitic.source
        slots["OBJECT"] = self.object(verb, negated=False) if takes_object else EMPTY
        slots["WH"], slots["PLACE"], slots["TIME"] = self._asked(rule["tense"])
        return compose(rule["source"], rule["target"], slots)

    def _asked(self, tense: str) -> tuple[Phrase, Phrase, Phrase]:
        """A question word, or what it could have asked for."""
        if self.chance(0.35):
            _, row = self.weighted("wh")
            return word_pair(row["source"], row["target"]), EMPTY, EMPTY
        return EMPTY, *self.circumstances(tense)


def _attributive(adjective: Adjective | None, agreement: Agreement, next_word: str) -> Phrase:
    if adjective is None:
        return EMPTY
    form = adjective.form(plural=agreement.plural, feminine=agreement.feminine)
    singular_masculine = not agreement.plural and not agreement.feminine
    if next_word and singular_masculine and begins_with_vowel(next_word):
        form = adjective.target[1]
    return linked((adjective.source,), (form,))


def _determiner_words(
    determiner: Determiner, agreement: Agreement, next_source: str, *, pre: Adjective | None
) -> Phrase:
    source = determiner.source[agreement.plural] or ""
    target = determiner.target[2 if agreement.plural else int(agreement.feminine)] or ""
    if determiner.name == "indefinite":
        source = source if agreement.plural else english_article(next_source)
        # "des" becomes "de" before an adjective that precedes its noun
        target = "de" if agreement.plural and pre is not None else target
    return word_pair(source, target)


def is_human(verb: Verb) -> bool:
    """Whether only people do what the verb says."""
    return bool(verb.kinds) and (verb.kinds <= ONLY_HUMAN or verb.preposition is not None)


def _predicative(adjective: Adjective, agreement: Agreement) -> Lexeme:
    def form(side: str, form: str) -> tuple[str, ...]:
        if side == "target":
            return (adjective.form(plural=agreement.plural, feminine=agreement.feminine),)
        if form == "comparative" and adjective.comparative:
            return (adjective.comparative,)
        return (adjective.source,)

    return form


def _without_stop(rule: Rule) -> Rule:
    """A rule of sentences for what goes on."""
    source, target = (rule[side].removesuffix(" .") for side in ("source", "target"))
    return {"source": source, "target": target}


def _referring(noun: Phrase, *, person: bool) -> Phrase:
    """The object pronoun that stands for a noun phrase."""
    agreement = agreement_of(noun)
    if agreement.plural:
        return word_pair("them", "les")
    if agreement.feminine:
        return word_pair("her" if person else "it", "la")
    return word_pair("him" if person else "it", "le")


# --- the corpus ---


TEST_SHARE, VALIDATION_SHARE = 6, 3
"""Per cent of the word combinations that only the test and the validation split hold."""
MAX_TRIES_PER_PAIR = 200


def sample(sentences: Sentences, count: int, split: str, *, clauses: int, max_words: int) -> list[str]:
    """Return lines of a split with different source sentences.

    Args:
        sentences: Makes them.
        count: Lines.
        split: train, validation or test.
        clauses: The most that a sentence joins; each number of them is equally frequent.
        max_words: Of an English sentence, punctuation included.
    """
    lines: dict[str, str] = {}
    for _ in range(MAX_TRIES_PER_PAIR * count):
        phrase, combinations = sentences.sentence(len(lines) % clauses + 1)
        if len(phrase.source) <= max_words and split_of(combinations) == split:
            phrase = spell(phrase)
            source, target = (
                join_words([words[0][0].upper() + words[0][1:], *words[1:]], language)
                for words, language in ((phrase.source, "en"), (phrase.target, "fr"))
            )
            links = " ".join(
                f"{i}{'?' if (i, j) in phrase.possible else '-'}{j}" for i, j in sorted(phrase.links)
            )
            lines.setdefault(source, f"{split}\t{source}\t{target}\t{links}\n")
            if len(lines) == count:
                return list(lines.values())
    raise SystemExit(f"error: the grammar makes fewer than {count:,} different {split} pairs")


def split_of(combinations: set[Combination]) -> str | None:
    """Return the split of a sentence with these combinations; None where it would belong to two."""
    held_out = set()
    for combination in combinations:
        share = zlib.crc32("|".join(combination).encode()) % 100
        if share < TEST_SHARE + VALIDATION_SHARE:
            held_out.add("test" if share < TEST_SHARE else "validation")
    if len(held_out) > 1:
        return None
    return held_out.pop() if held_out else "train"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the corpus."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=FOLDER / "corpus.tsv.xz", metavar="FILE")
    for split, count in (("train", 20_000), ("validation", 500), ("test", 1000)):
        parser.add_argument(f"--{split}", type=int, default=count, metavar="N", help="pairs (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of what is sampled (%(default)s)")
    parser.add_argument(
        "--clauses", type=int, default=1, metavar="N", help="joined in a sentence at most (%(default)s)"
    )
    parser.add_argument(
        "--max-words", type=int, default=24, metavar="N", help="of an English sentence (%(default)s)"
    )
    options = parser.parse_args(arguments)
    lexicon = load_lexicon(FOLDER / "lexicon.yaml")
    rules = yaml.safe_load((FOLDER / "rules.yaml").read_text(encoding="utf-8"))
    lines = []
    for split in ("train", "validation", "test"):
        sentences = Sentences(lexicon, rules, random.Random(f"{options.seed} {split}"))
        count = getattr(options, split)
        if count:
            lines += sample(sentences, count, split, clauses=options.clauses, max_words=options.max_words)
    with lzma.open(
        options.output, "wt", encoding="utf-8", newline="\n", preset=9 | lzma.PRESET_EXTREME
    ) as file:
        file.writelines(lines)


if __name__ == "__main__":
    main()
