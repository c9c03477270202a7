"""Random noun phrases and adjectives."""

import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NotRequired, TypedDict, TypeVar

from seq2seq.grammar.french import begins_with_vowel
from seq2seq.grammar.inflection import english_article
from seq2seq.grammar.lexicon import Adjective, Determiner, Lexicon, Noun
from seq2seq.grammar.phrase import (
    EMPTY,
    Agreement,
    Phrase,
    agreement_of,
    compose,
    linked,
    word_pair,
)

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


class NounPhrases:
    """Makes random noun phrases, of which `Clauses` and then `Sentences` are made.

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
        return replace(
            word_pair(word, word), agreement=Agreement(3, plural=False, feminine=feminine)
        )

    def pair(self, first: Phrase, second: Phrase) -> Phrase:
        """Two phrases joined by "and"; feminine only where both are."""
        rule = self.rules["noun_phrases"]["and"]
        joined = compose(rule["source"], rule["target"], {"NP": first, "SECOND": second})
        feminine = agreement_of(first).feminine and agreement_of(second).feminine
        return replace(
            joined, agreement=Agreement(3, plural=True, feminine=feminine), contents=first.contents
        )

    def noun_phrase(
        self,
        kinds: Collection[str],
        determiners: Sequence[str] | None = None,
        *,
        bare: bool = False,
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
