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
from types import SimpleNamespace
from typing import Any

import yaml

FOLDER = Path(__file__).parent


# --- inflection ---

ENGLISH_SIBILANT = re.compile(r"(s|x|ch|sh)$")
CONSONANT_Y = re.compile(r"([^aeiou])y$")
ENGLISH_VOWEL = re.compile(r"[aeiou]")


def english_s(word: str) -> str:
    """Plural of a noun, or third person of a verb."""
    if (word.endswith("o") and word != "piano") or ENGLISH_SIBILANT.search(word):
        return f"{word}es"
    return CONSONANT_Y.sub(r"\1ie", word) + "s"


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
    """A verb: English base and third person; French infinitive, je, il, nous, vous, ils, and participle.

    `past` and `negative` (of modals) are English; None where there is none. `kinds` are those of the nouns
    that it takes as its object, `preposition` what stands before the object in both languages.
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


def load_lexicon(path: Path) -> SimpleNamespace:
    """Read lexicon.yaml; pronouns, clitics, adverbs, times and places stay English -> French."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    conjugation, verbs = data["conjugation"], data["verbs"]
    lexicon = SimpleNamespace(**data)  # of determiners: English singular and plural; French m., f., plural
    lexicon.nouns = list(_nouns(data["nouns"]))
    lexicon.names = [(n, gender == "f") for gender, names in data["names"].items() for n in names]
    lexicon.adjectives = list(_adjectives(data["adjectives"], data["adjective_classes"]))
    lexicon.transitive, lexicon.prepositional = (
        [
            make(source, target, conjugation, frozenset(row["objects"]))
            for row in verbs[group]
            for source, target in row["verbs"].items()
        ]
        for group, make in (("transitive", _verb), ("prepositional", _prepositional))
    )
    lexicon.intransitive = [
        _verb(*words, conjugation) for row in verbs["intransitive"] for words in row.items()
    ]
    lexicon.modals = [
        replace(
            _verb(source, row["target"], conjugation), third=row["third"], past=None, negative=row["negative"]
        )
        for source, row in data["modals"].items()
    ]
    lexicon.auxiliaries = {name: _verb(name, name, conjugation) for name in ("être", "avoir", "aller")}
    lexicon.determiners = [SimpleNamespace(name=name, **row) for name, row in data["determiners"].items()]
    return lexicon


def _with_default(forms: str, derive: Callable[[str], str]) -> tuple[str, str]:
    """ "a/b" -> (a, b); "a" -> (a, the regular form)."""
    first, _, second = forms.partition("/")
    return first, second or derive(first)


def _nouns(data: dict[str, dict[str, dict[str, str]]]) -> Iterator[Noun]:
    for kind, genders in data.items():
        for gender, words in genders.items():
            for source, target in words.items():
                forms = _with_default(source, english_s), _with_default(target, french_plural)
                yield Noun(*forms, feminine=gender == "f", kind=kind)


def _adjectives(
    data: dict[str, dict[str, dict[str, str]]], classes: dict[str, list[str]]
) -> Iterator[Adjective]:
    for place, groups in data.items():
        for group, words in groups.items():
            for source, target in words.items():
                positive, _, comparative = source.partition("/")
                forms = target.split("/")  # one, two or five
                if len(forms) < 5:
                    masculine, feminine = (
                        forms[0],
                        forms[1] if forms[1:] else (forms[0] if forms[0].endswith("e") else f"{forms[0]}e"),
                    )
                    plurals = french_plural(masculine), french_plural(feminine)
                    forms = [masculine, masculine, feminine, *plurals]
                kinds = frozenset(classes[group])
                yield Adjective(positive, comparative or None, tuple(forms), place == "before", kinds)


def _verb(
    source: str, target: str, conjugation: dict[str, list[str]], kinds: frozenset[str] = frozenset()
) -> Verb:
    """A verb from "english[/past]"; the first English word is the one that is inflected."""
    base, _, given_past = source.partition("/")
    head, _, rest = base.partition(" ")
    past = None if given_past == "-" else given_past or CONSONANT_Y.sub(r"\1i", head).removesuffix("e") + "ed"
    stem = target.removesuffix("er")  # a regular verb
    regular = [f"{stem}{ending}" for ending in ("e", "e", "ons", "ez", "ent", "é")]
    *finite, participle = conjugation.get(target, regular)
    third, past = (each and f"{each} {rest}".rstrip() for each in (english_s(head), past))
    return Verb(base, third, target, tuple(finite), participle, past, kinds=kinds)


def _prepositional(
    source: str, target: str, conjugation: dict[str, list[str]], kinds: frozenset[str]
) -> Verb:
    """A verb whose French object has a preposition: "talk to": "parler à"."""
    base, slash, past = source.partition("/")
    source_head, _, source_rest = base.partition(" ")
    target_head, _, target_rest = target.partition(" ")
    verb = _verb(source_head + slash + past, target_head, conjugation, kinds)
    return replace(verb, preposition=(source_rest, target_rest))


# --- phrases of two sides ---


@dataclass(frozen=True, slots=True)
class Agreement:
    """What verbs, adjectives and pronouns agree with: person, number of the verb, French gender."""

    person: int
    plural: bool
    feminine: bool

    @property
    def is_third_singular(self) -> bool:
        """Whether an English verb ends in -s."""
        return self.person == 3 and not self.plural

    @property
    def finite_index(self) -> int:
        """Place among je, il, nous, vous, ils."""
        return [(1, False), (3, False), (1, True), (2, True), (3, True)].index(
            (self.person, self.plural or self.person == 2)
        )


Links = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words of both languages and which of them translate each other.

    Attributes:
        source: English words.
        target: French words, before elision and contraction.
        links: (source index, target index) pairs.
        possible: Those of the links that are possible, not sure: of words without a counterpart of their own.
        agreement: Of noun phrases and pronouns.
        contents: The content words that the phrase is about, its head first.
        verb: Source indices of the main verb.
        governed: Target indices of words that only the French verb demands, such as the "besoin de" of
            "avoir besoin de"; they are linked with the verb where the two phrases meet.
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
    phrases = {name: phrase for name, phrase in slots.items() if isinstance(phrase, Phrase)}
    links, possible = set(), set()
    for name in phrases.keys() & source.phrase_starts.keys() & target.phrase_starts.keys():
        down, right = source.phrase_starts[name], target.phrase_starts[name]
        links |= {(down + i, right + j) for i, j in phrases[name].links}
        possible |= {(down + i, right + j) for i, j in phrases[name].possible}
    for name in source.groups.keys() & target.groups.keys():
        for i, i_sure in source.groups[name].items():
            for j, j_sure in target.groups[name].items():
                links.add((i, j))
                if not (i_sure and j_sure):
                    possible.add((i, j))
    verb = tuple(source.groups.get("V", ()))  # the slot V, or the verb in the slot VG
    if not verb and "VG" in source.phrase_starts and "VG" in phrases:
        verb = tuple(source.phrase_starts["VG"] + index for index in phrases["VG"].verb)
    demanded = [start + j for name, start in target.phrase_starts.items() for j in phrases[name].governed]
    governed = {(i, j) for i in verb for j in demanded}
    links, possible = frozenset(links | governed), frozenset(possible | governed)
    return Phrase(tuple(source.words), tuple(target.words), links, possible, verb=verb)


def fill(rule: Mapping[str, Any], **slots: Phrase | Lexeme) -> Phrase:
    """Fill the templates of a rule."""
    return compose(rule["source"], rule["target"], slots)


@cache
def _items(template: str) -> list[tuple[str, str, str, list[tuple[str, bool]]]]:
    """Return for each item of a template: text, name of the slot, form, and link names; True: sure."""
    items = []
    for item in template.split():
        text, _, link = item.partition(":")
        name, _, form = text.partition(".")
        labels = link.split(",") if link else [name or text]
        links = [(each.removesuffix("?") or each, each == "?" or not each.endswith("?")) for each in labels]
        items.append((text, name, form, links))
    return items


def _fill(template: str, side: str, slots: Mapping[str, Phrase | Lexeme]) -> _Side:
    filled = _Side()
    for text, name, form, links in _items(template):
        filler = slots.get(name)
        start = len(filled.words)
        if filler is None:
            filled.words.append(text)  # a full stop is a word, not a form
        elif isinstance(filler, Phrase):
            filled.words += filler.source if side == "source" else filler.target
            filled.phrase_starts[name] = start
            continue
        else:
            filled.words += filler(side, form)
        for label, sure in links:
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


def verb_forms(verb: Verb, agreement: Agreement) -> Lexeme:
    """`agree`, `base`, `past`, `not` in English; `agree`, `infinitive`, `participle` in French."""
    forms = {
        ("source", "agree"): verb.third if agreement.is_third_singular else verb.base,
        ("source", "base"): verb.base,
        ("source", "past"): verb.past,
        ("source", "not"): verb.negative,
        ("target", "agree"): verb.finite[agreement.finite_index],
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
    return lambda _side, _form: (verb.finite[agreement.finite_index],)


def do(agreement: Agreement) -> Lexeme:
    """Do or does; `not`: the don' or doesn' before t."""
    word = "does" if agreement.is_third_singular else "do"
    return lambda _side, form: (f"{word}n'" if form == "not" else word,)


def be(agreement: Agreement) -> Lexeme:
    """am, is or are."""
    first = "am" if agreement.person == 1 and not agreement.plural else "are"
    return lambda _side, _form: ("is" if agreement.is_third_singular else first,)


# --- random phrases, clauses and sentences ---


Rule = dict[str, Any]
"""A template of both languages, with a weight, and a tense and `negated` where it has a verb."""

Combination = tuple[str, str]
"""Two content words that a sentence puts together."""

BEFORE = {"source": "PREPOSITION NP", "target": "PREPOSITION NP"}
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
    """Makes random sentences of words and templates, and tells which content words each combines."""

    def __init__(
        self, lexicon: SimpleNamespace, rules: dict[str, dict[str, Rule]], generator: random.Random
    ) -> None:
        self.lexicon, self.rules = lexicon, rules
        self._random, self.choice = generator, generator.choice
        self.combinations: set[Combination] = set()
        self._by_kind: dict[str, list[Noun]] = {}
        for noun in lexicon.nouns:
            self._by_kind.setdefault(noun.kind, []).append(noun)
        self._adjectives = {
            kind: [each for each in lexicon.adjectives if kind in each.kinds] for kind in self._by_kind
        }

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self._random.random() < probability

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
            rule, second = self.rules["noun_phrases"]["and"], self.name()
            both = phrase.agreement.feminine and second.agreement.feminine
            joined = fill(rule, NP=phrase, SECOND=second)
            agreement = Agreement(3, plural=True, feminine=both)
            phrase = replace(joined, agreement=agreement, contents=phrase.contents)
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

    def noun_phrase(
        self, kinds: Collection[str], determiners: Sequence[str] | None = None, *, bare: bool = False
    ) -> Phrase:
        """A determiner (None: any), adjectives unless `bare`, and a noun of one of the kinds."""
        kind = self.choice(sorted(kinds))
        noun = self.choice(self._by_kind[kind])
        allowed = [d for d in self.lexicon.determiners if determiners is None or d.name in determiners]
        determiner = self._random.choices(allowed, [d.weight for d in allowed])[0]
        plural = determiner.source[0] is None
        if None not in determiner.source:
            plural = self.chance(0.3)
        pre, post = (None, None) if bare else self._pick_adjectives(kind)
        phrase = self._assemble(noun, determiner, pre, post, plural)
        if kind != "part":
            return phrase
        owner = self.noun_phrase(["place"], ("definite", "this", "my", "your", "our"), bare=True)
        rule = self.rules["noun_phrases"]["part"]
        joined = fill(rule, NP=phrase, OWNER=owner)
        contents = (phrase.contents[0], owner.contents[0], *phrase.contents[1:])
        return replace(joined, agreement=phrase.agreement, contents=contents)

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
        determiner: SimpleNamespace,
        pre: Adjective | None,
        post: Adjective | None,
        plural: bool,
    ) -> Phrase:
        agreement = Agreement(3, plural=plural, feminine=noun.feminine)
        noun_words = word_pair(noun.source[plural], noun.target[plural])
        slots = {"NOUN": noun_words}
        for name, adjective, next_word in (("PRE", pre, noun_words.target[0]), ("POST", post, "")):
            slots[name] = EMPTY
            if adjective is not None:
                form = adjective.form(plural=plural, feminine=noun.feminine)
                if next_word and not plural and not noun.feminine and begins_with_vowel(next_word):
                    form = adjective.target[1]
                slots[name] = linked((adjective.source,), (form,))
        # English puts both adjectives before the noun, those of size and age first
        next_source = (slots["PRE"].source + slots["POST"].source + noun_words.source)[0]
        source = determiner.source[plural] or ""
        target = determiner.target[2 if plural else int(noun.feminine)] or ""
        if determiner.name == "indefinite":
            source = source if plural else english_article(next_source)
            # "des" becomes "de" before an adjective that precedes its noun
            target = "de" if plural and pre is not None else target
        slots["DET"] = word_pair(source, target)
        rule = self.rules["noun_phrases"]["noun"]
        phrase = fill(rule, **slots)
        adjectives = tuple(adjective.source for adjective in (pre, post) if adjective)
        return replace(phrase, agreement=agreement, contents=(noun.source[0], *adjectives))

    def predicate(self, kind: str, subject: Phrase, *, compared: bool = False) -> Adjective:
        """An adjective that can be said of a subject of a kind, other than those it has."""
        fitting = [each for each in self._adjectives[kind] if each.comparative or not compared]
        return self.choice([each for each in fitting if each.source not in subject.contents])

    # --- clauses ---

    def weighted(self, group: str, allowed: Sequence[str] | None = None) -> tuple[str, Rule]:
        """One of the rules of a group, by weight, and its name."""
        rules = self.rules[group]
        names = [name for name in rules if allowed is None or name in allowed]
        name = self._random.choices(names, [rules[name]["weight"] for name in names])[0]
        return name, rules[name]

    def note(self, head: str, *others: str) -> None:
        """Remember which content words come together."""
        self.combinations.update((head, other) for other in others)

    def noted(self, phrase: Phrase) -> Phrase:
        """The phrase itself, its combinations noted."""
        self.note(*phrase.contents or ("",))
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
        allowed = [
            name
            for name, each in self.rules["verb_groups"].items()
            if (not clitic.source or "CLITIC" in each["source"]) and (each["tense"] != "past" or verb.past)
        ]
        group = self.weighted("verb_groups", allowed)[1]
        target = EMPTY
        if verb.kinds and not clitic.source:
            target = self.object(verb, negated=group.get("negated", False))
        self.note(*subject.contents[:1], verb.base)
        place, time = self.circumstances(group["tense"])
        words = self.filled_group(group, verb, subject, clitic)
        return fill(rule, SUBJECT=subject, VG=words, OBJECT=target, PLACE=place, TIME=time)

    def filled_group(self, group: Rule, verb: Verb, subject: Phrase, clitic: Phrase) -> Phrase:
        """A verb group around a verb."""
        agreement = subject.agreement
        slots = self.verb_slots(verb, agreement, clitic)
        if "M.not" in group["source"]:
            modals = [modal for modal in self.lexicon.modals if modal.negative]
            slots["M"] = verb_forms(self.choice(modals), agreement)
        return fill(group, **slots)

    def verb_slots(self, verb: Verb, agreement: Agreement, clitic: Phrase) -> dict[str, Phrase | Lexeme]:
        """What the verb slots of a rule are filled with."""
        adverb = EMPTY
        if self.chance(0.2):
            adverb = word_pair(*self.choice(list(self.lexicon.adverbs.items())))
        avoir, aller = (auxiliary(self.lexicon.auxiliaries[name], agreement) for name in ("avoir", "aller"))
        modal = verb_forms(self.choice(self.lexicon.modals), agreement)
        slots = {"V": verb_forms(verb, agreement), "M": modal, "CLITIC": clitic, "ADVERB": adverb}
        return slots | {"DO": do(agreement), "BE": be(agreement), "AVOIR": avoir, "ALLER": aller}

    def object(self, verb: Verb, *, negated: bool) -> Phrase:
        """A noun phrase that the verb takes, with the verb's preposition."""
        restricted = negated or verb.preposition is not None
        phrase = self.noted(self.noun_phrase(verb.kinds, SPECIFIC if restricted else None))
        self.note(verb.base, phrase.contents[0])
        if verb.preposition is None:
            return phrase
        preposition = word_pair(*verb.preposition)
        composed = fill(BEFORE, PREPOSITION=preposition, NP=phrase)
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
        return fill(BEFORE, PREPOSITION=preposition, NP=self.noted(where))

    def clitic(self, verb: Verb, subject: Phrase) -> Phrase:
        """An object pronoun that the verb takes; "it" alone is masculine."""
        table = self.lexicon.clitics["person" if verb.kinds == {"person"} else "other"]
        word = self.choice([word for word in table if (subject.source[0], word) not in SAME_PERSON])
        return word_pair(word, table[word])

    def _existential(self, rule: Rule) -> Phrase:
        phrase = self.noted(self.noun_phrase(CAN_SEE, COUNTED))
        return fill(rule, BE=be(phrase.agreement), NP=phrase, PLACE=self._place())

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
        agreement = subject.agreement

        def form(side: str, name: str) -> tuple[str, ...]:
            if side == "target":
                return (adjective.form(plural=agreement.plural, feminine=agreement.feminine),)
            return (adjective.comparative or adjective.source if name == "comparative" else adjective.source,)

        etre = auxiliary(self.lexicon.auxiliaries["être"], agreement)
        return fill(rule, SUBJECT=subject, BE=be(agreement), ETRE=etre, ADJECTIVE=form, NP=other)

    def _relative(self, noun: Phrase, kind: str) -> Phrase:
        """A noun phrase with a relative clause."""
        verbs = [verb for verb in self.lexicon.transitive if verb.kinds != {"part"}]
        if self.chance(0.5):
            verb = self.choice([v for v in verbs if kind == "person" or not is_human(v)])
            self.note(noun.contents[0], verb.base)
            pronoun = "who" if kind == "person" else "that"
            slots = {"REL": lambda _side, _form: (pronoun,), "OBJECT": self.object(verb, negated=False)}
            phrase = fill(
                self.rules["noun_phrases"]["who"], NP=noun, V=verb_forms(verb, noun.agreement), **slots
            )
        else:
            verb = self.choice([verb for verb in verbs if kind in verb.kinds])
            self.note(verb.base, noun.contents[0])
            subject = self.pronoun() if self.chance(0.5) else self.name()
            words = verb_forms(verb, subject.agreement)
            phrase = fill(self.rules["noun_phrases"]["whom"], NP=noun, SUBJECT=subject, V=words)
        return replace(phrase, agreement=noun.agreement, contents=noun.contents)

    # --- sentences ---

    def sentence(self, num_clauses: int = 1) -> tuple[Phrase, set[Combination]]:
        """A sentence before French spelling, and the pairs of content words it combines.

        With one clause a sentence as any rule makes it.
        """
        self.combinations = set()
        if num_clauses > 1:
            phrase = self.clause(plain=True)
            for place in range(1, num_clauses):  # each is joined to those after it
                _, rule = self.weighted("sentences", JOINING)
                if place < num_clauses - 1:
                    rule = {side: rule[side].removesuffix(" .") for side in ("source", "target")}
                phrase = self._join(rule, self.clause(plain=True), phrase)
            return phrase, self.combinations
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

    def _join(self, rule: Rule, first: Phrase, second: Phrase) -> Phrase:
        return fill(rule, CLAUSE=first, SECOND=second)

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
        clitic = word_pair("it", "le")  # the object pronoun that stands for the noun phrase
        if noun.agreement.plural:
            clitic = word_pair("them", "les")
        elif noun.agreement.feminine or kind == "person":
            words = {True: ("her", "la"), False: ("him", "le")}[noun.agreement.feminine]
            clitic = word_pair(words[0] if kind == "person" else "it", words[1])
        rule = self.rules["clauses"]["transitive"]
        words = self.filled_group(group, verb, subject, clitic)
        return first, fill(rule, SUBJECT=subject, VG=words, OBJECT=EMPTY, PLACE=EMPTY, TIME=EMPTY)

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
        slots = self.verb_slots(verb, subject.agreement, clitic)
        slots["SUBJECT"] = subject
        takes_object = bool(verb.kinds) and name != "what" and not clitic.source
        slots["OBJECT"] = self.object(verb, negated=False) if takes_object else EMPTY
        slots["WH"] = slots["PLACE"] = slots["TIME"] = EMPTY
        if self.chance(0.35):  # a question word, or what it could have asked for
            _, row = self.weighted("wh")
            slots["WH"] = word_pair(row["source"], row["target"])
        else:
            slots["PLACE"], slots["TIME"] = self.circumstances(rule["tense"])
        return fill(rule, **slots)


def is_human(verb: Verb) -> bool:
    """Whether only people do what the verb says."""
    return bool(verb.kinds) and (verb.kinds <= ONLY_HUMAN or verb.preposition is not None)


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
                re.sub(
                    rf"(?<=') | (?=[{marks}])", "", " ".join([words[0][0].upper() + words[0][1:], *words[1:]])
                )
                for words, marks in ((phrase.source, ".?"), (phrase.target, "."))  # which follow a word
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
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(
        options.output, "wt", encoding="utf-8", newline="\n", preset=9 | lzma.PRESET_EXTREME
    ) as file:
        file.writelines(lines)


if __name__ == "__main__":
    main()
