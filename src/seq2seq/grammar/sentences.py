"""Random sentences: clauses joined together, and questions."""

import random
from collections.abc import Mapping
from typing import Any

from seq2seq.grammar.clauses import Clauses, Combination, Rule, is_human
from seq2seq.grammar.lexicon import Lexicon
from seq2seq.grammar.phrase import (
    EMPTY,
    Lexeme,
    Phrase,
    agreement_of,
    compose,
    word_pair,
)
from seq2seq.grammar.phrases import SPECIFIC


class Sentences:
    """Makes random sentences, and tells which content words each combines.

    Args:
        lexicon: the words.
        rules: the templates of rules.yaml.
        generator: the source of randomness.
    """

    def __init__(
        self, lexicon: Lexicon, rules: Mapping[str, Any], generator: random.Random
    ) -> None:
        self._clauses = Clauses(lexicon, rules, generator)

    def sentence(self) -> tuple[Phrase, set[Combination]]:
        """A sentence before French spelling, and the pairs of content words it combines."""
        self._clauses.combinations = set()
        name, rule = self._clauses.weighted("sentences")
        match name:
            case "question":
                phrase = self._question()
            case "statement":
                phrase = self._join(rule, self._clauses.clause(), EMPTY)
            case "because":
                phrase = self._join(
                    rule, self._clauses.clause(plain=True), self._clauses.clause(plain=True)
                )
            case _ if self._clauses.nouns.chance(0.7):
                phrase = self._join(rule, *self._antecedent(negated=name == "but"))
            case _:
                phrase = self._join(
                    rule, self._clauses.clause(plain=True), self._clauses.clause(plain=True)
                )
        return phrase, self._clauses.combinations

    def _join(self, rule: Rule, first: Phrase, second: Phrase) -> Phrase:
        return compose(rule["source"], rule["target"], {"CLAUSE": first, "SECOND": second})

    def _antecedent(self, *, negated: bool) -> tuple[Phrase, Phrase]:
        """ "The key is small" / "I see it": the first clause decides the pronoun's gender."""
        verb = self._clauses.nouns.choice(
            [v for v in self._clauses.lexicon.transitive if v.kinds != {"part"}]
        )
        kind = self._clauses.nouns.choice(sorted(verb.kinds))
        noun = self._clauses.noted(self._clauses.nouns.noun_phrase([kind], SPECIFIC, bare=True))
        adjective = self._clauses.nouns.predicate(kind, noun)
        first = self._clauses.said(self._clauses.rules["clauses"]["copula"], noun, adjective, EMPTY)
        self._clauses.note(verb.base, noun.contents[0])
        groups = ["present_not", "future_not"] if negated else ["present", "future", "modal"]
        group = self._clauses.weighted("verb_groups", groups)[1]
        subject = self._clauses.nouns.pronoun()
        clitic = _referring(noun, person=kind == "person")
        rule = self._clauses.rules["clauses"]["transitive"]
        slots: dict[str, Phrase | Lexeme] = {
            "SUBJECT": subject,
            "VG": self._clauses.filled_group(group, verb, subject, clitic),
            "OBJECT": EMPTY,
            "PLACE": EMPTY,
            "TIME": EMPTY,
        }
        return first, compose(rule["source"], rule["target"], slots)

    def _question(self) -> Phrase:
        name, rule = self._clauses.weighted("questions")
        if name == "what":
            verb = self._clauses.nouns.choice(
                [v for v in self._clauses.lexicon.transitive if "person" not in v.kinds]
            )
        else:
            verbs = self._clauses.lexicon.transitive + self._clauses.lexicon.intransitive
            verb = self._clauses.nouns.choice(
                [v for v in verbs if rule["tense"] != "past" or v.past]
            )
        subject, _ = self._clauses.subject(plain=True, human=is_human(verb))
        self._clauses.note(*subject.contents[:1], verb.base)
        clitic = EMPTY
        if verb.kinds and "CLITIC" in rule["source"] and self._clauses.nouns.chance(0.25):
            clitic = self._clauses.clitic(verb, subject)
        slots = self._clauses.verb_slots(verb, agreement_of(subject), clitic)
        slots["SUBJECT"] = subject
        takes_object = bool(verb.kinds) and name != "what" and not clitic.source
        slots["OBJECT"] = self._clauses.object(verb, negated=False) if takes_object else EMPTY
        slots["WH"], slots["PLACE"], slots["TIME"] = self._asked(rule["tense"])
        return compose(rule["source"], rule["target"], slots)

    def _asked(self, tense: str) -> tuple[Phrase, Phrase, Phrase]:
        """A question word, or what it could have asked for."""
        if self._clauses.nouns.chance(0.35):
            _, row = self._clauses.weighted("wh")
            return word_pair(row["source"], row["target"]), EMPTY, EMPTY
        return EMPTY, *self._clauses.circumstances(tense)


def _referring(noun: Phrase, *, person: bool) -> Phrase:
    """The object pronoun that stands for a noun phrase."""
    agreement = agreement_of(noun)
    if agreement.plural:
        return word_pair("them", "les")
    if agreement.feminine:
        return word_pair("her" if person else "it", "la")
    return word_pair("him" if person else "it", "le")
