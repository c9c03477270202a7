"""Random sentences."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from seq2seq.text.grammar.lexicon import Adjective, Lexicon, Verb
from seq2seq.text.grammar.phrase import EMPTY, Agreement, Lexeme, Phrase, compose, word_pair
from seq2seq.text.grammar.phrases import COUNTED, SPECIFIC, NounPhrases
from seq2seq.text.grammar.verbs import auxiliary, be, do, verb_forms

Rule = Mapping[str, Any]
Combination = tuple[str, str]

SAME_PERSON = {("I", "me"), ("I", "us"), ("we", "us"), ("we", "me"), ("you", "you")}
ONLY_HUMAN = frozenset({"text", "clothing", "thing", "vehicle", "part"})
"""What animals do not handle."""
CAN_SEE = ("person", "animal", "thing", "clothing", "vehicle", "place", "food", "text")


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
        self._lexicon = lexicon
        self._rules = rules
        self._random = generator
        self._nouns = NounPhrases(lexicon, rules["noun_phrases"], generator)
        self._combinations: set[Combination] = set()

    def sentence(self) -> tuple[Phrase, set[Combination]]:
        """A sentence before French spelling, and the pairs of content words it combines."""
        self._combinations = set()
        name, rule = self._weighted("sentences")
        match name:
            case "question":
                phrase = self._question()
            case "statement":
                phrase = self._join(rule, self._clause(), EMPTY)
            case "because":
                phrase = self._join(rule, self._clause(plain=True), self._clause(plain=True))
            case _ if self._nouns.chance(0.7):
                phrase = self._join(rule, *self._antecedent(negated=name == "but"))
            case _:
                phrase = self._join(rule, self._clause(plain=True), self._clause(plain=True))
        return phrase, self._combinations

    def _weighted(self, group: str, allowed: Sequence[str] | None = None) -> tuple[str, Rule]:
        rules = self._rules[group]
        names = [name for name in rules if allowed is None or name in allowed]
        name = self._random.choices(names, [rules[name]["weight"] for name in names])[0]
        return name, rules[name]

    def _join(self, rule: Rule, first: Phrase, second: Phrase) -> Phrase:
        return compose(rule["source"], rule["target"], {"CLAUSE": first, "SECOND": second})

    def _note(self, head: str | None, *others: str) -> None:
        """Remember which content words come together."""
        if head is not None:
            self._combinations.update((head, other) for other in others)

    def _noted(self, phrase: Phrase) -> Phrase:
        if phrase.contents:
            self._note(*phrase.contents)
        return phrase

    # clauses

    def _clause(self, *, plain: bool = False) -> Phrase:
        """A clause; a plain one has no object pronoun and no relative clause."""
        name, rule = self._weighted("clauses")
        match name:
            case "existential":
                return self._existential(rule)
            case "copula" | "copula_not" | "comparative" | "equal":
                return self._copula(name, rule)
            case "intransitive":
                return self._verbal(rule, self._nouns.choice(self._lexicon.intransitive))
        if self._nouns.chance(0.2):
            return self._verbal(rule, self._nouns.choice(self._lexicon.prepositional))
        verb = self._nouns.choice(self._lexicon.transitive)
        subject, _ = self._subject(plain=plain, human=_is_human(verb))
        clitic = EMPTY
        if not plain and self._nouns.chance(0.25):
            clitic = self._clitic(verb, subject)
        return self._verbal(rule, verb, subject=subject, clitic=clitic)

    def _subject(self, *, plain: bool, human: bool) -> tuple[Phrase, str]:
        subject, kind = self._nouns.subject(human=human)
        self._noted(subject)
        if not plain and len(subject.contents) == 1 and self._nouns.chance(0.12):
            subject = self._relative(subject, kind)
        return subject, kind

    def _verbal(
        self, rule: Rule, verb: Verb, *, subject: Phrase | None = None, clitic: Phrase = EMPTY
    ) -> Phrase:
        """A clause around a verb."""
        subject = subject or self._subject(plain=False, human=_is_human(verb))[0]
        group = self._verb_group(verb, clitic)
        target = EMPTY
        if verb.kinds and not clitic.source:
            target = self._object(verb, negated=group.get("negated", False))
        self._note(*subject.contents[:1], verb.base)
        place, time = self._circumstances(group["tense"])
        slots: dict[str, Phrase | Lexeme] = {
            "SUBJECT": subject,
            "VG": self._filled_group(group, verb, subject, clitic),
            "OBJECT": target,
            "PLACE": place,
            "TIME": time,
        }
        return compose(rule["source"], rule["target"], slots)

    def _verb_group(self, verb: Verb, clitic: Phrase) -> Rule:
        allowed = [
            name
            for name, rule in self._rules["verb_groups"].items()
            if (not clitic.source or "CLITIC" in rule["source"])
            and (rule["tense"] != "past" or verb.past is not None)
        ]
        return self._weighted("verb_groups", allowed)[1]

    def _filled_group(self, group: Rule, verb: Verb, subject: Phrase, clitic: Phrase) -> Phrase:
        agreement = _agreement(subject)
        slots = self._verb_slots(verb, agreement, clitic)
        if "M.not" in group["source"]:
            modals = [modal for modal in self._lexicon.modals if modal.negative]
            slots["M"] = verb_forms(self._nouns.choice(modals), agreement)
        return compose(group["source"], group["target"], slots)

    def _verb_slots(
        self, verb: Verb, agreement: Agreement, clitic: Phrase
    ) -> dict[str, Phrase | Lexeme]:
        adverb = EMPTY
        if self._nouns.chance(0.2):
            adverb = word_pair(*self._nouns.choice(list(self._lexicon.adverbs.items())))
        auxiliaries = self._lexicon.auxiliaries
        return {
            "V": verb_forms(verb, agreement),
            "M": verb_forms(self._nouns.choice(self._lexicon.modals), agreement),
            "CLITIC": clitic,
            "ADVERB": adverb,
            "DO": do(agreement),
            "BE": be(agreement),
            "AVOIR": auxiliary(auxiliaries["avoir"], agreement),
            "ALLER": auxiliary(auxiliaries["aller"], agreement),
        }

    def _object(self, verb: Verb, *, negated: bool) -> Phrase:
        """A noun phrase that the verb takes, with the verb's preposition."""
        restricted = negated or verb.preposition is not None
        phrase = self._noted(self._nouns.noun_phrase(verb.kinds, SPECIFIC if restricted else None))
        self._note(verb.base, phrase.contents[0])
        if verb.preposition is None:
            return phrase
        slots = {"PREPOSITION": word_pair(*verb.preposition), "NP": phrase}
        return compose("PREPOSITION NP", "PREPOSITION NP", slots)

    def _circumstances(self, tense: str) -> tuple[Phrase, Phrase]:
        place, time = EMPTY, EMPTY
        if self._nouns.chance(0.15):
            place = self._place()
        if self._nouns.chance(0.2):
            time = word_pair(*self._nouns.choice(list(self._lexicon.times[tense].items())))
        return place, time

    def _place(self) -> Phrase:
        preposition = word_pair(*self._nouns.choice(list(self._lexicon.places.items())))
        where = self._nouns.noun_phrase(["place"], SPECIFIC, bare=self._nouns.chance(0.7))
        slots = {"PREPOSITION": preposition, "NP": self._noted(where)}
        return compose("PREPOSITION NP", "PREPOSITION NP", slots)

    def _clitic(self, verb: Verb, subject: Phrase) -> Phrase:
        """An object pronoun that the verb takes; "it" alone is masculine."""
        table = self._lexicon.clitics["person" if verb.kinds == {"person"} else "other"]
        words = [word for word in table if (subject.source[0], word) not in SAME_PERSON]
        word = self._nouns.choice(words)
        return word_pair(word, table[word])

    def _existential(self, rule: Rule) -> Phrase:
        phrase = self._noted(self._nouns.noun_phrase(CAN_SEE, COUNTED))
        slots: dict[str, Phrase | Lexeme] = {
            "BE": be(_agreement(phrase)),
            "NP": phrase,
            "PLACE": self._place(),
        }
        return compose(rule["source"], rule["target"], slots)

    def _copula(self, name: str, rule: Rule) -> Phrase:
        compared = name in {"comparative", "equal"}
        if self._nouns.chance(0.6):
            subject, kind = self._subject(plain=True, human=False)
        else:
            kind = self._nouns.choice([k for k in CAN_SEE if k != "person"])
            subject = self._noted(self._nouns.noun_phrase([kind], SPECIFIC))
        adjective = self._nouns.predicate(kind, compared=compared)
        other = EMPTY
        if compared:
            other = self._noted(self._nouns.noun_phrase([kind], SPECIFIC, bare=True))
        return self._said(rule, subject, adjective, other)

    def _said(self, rule: Rule, subject: Phrase, adjective: Adjective, other: Phrase) -> Phrase:
        """Say an adjective of a subject."""
        self._note(*subject.contents[:1], adjective.source)
        agreement = _agreement(subject)
        slots: dict[str, Phrase | Lexeme] = {
            "SUBJECT": subject,
            "BE": be(agreement),
            "ETRE": auxiliary(self._lexicon.auxiliaries["être"], agreement),
            "ADJECTIVE": _predicative(adjective, agreement),
            "NP": other,
        }
        return compose(rule["source"], rule["target"], slots)

    # sentences of two clauses, questions, relative clauses

    def _antecedent(self, *, negated: bool) -> tuple[Phrase, Phrase]:
        """ "The key is small" / "I see it": the first clause decides the pronoun's gender."""
        verb = self._nouns.choice([v for v in self._lexicon.transitive if v.kinds != {"part"}])
        kind = self._nouns.choice(sorted(verb.kinds))
        noun = self._noted(self._nouns.noun_phrase([kind], SPECIFIC, bare=True))
        adjective = self._nouns.predicate(kind)
        first = self._said(self._rules["clauses"]["copula"], noun, adjective, EMPTY)
        self._note(verb.base, noun.contents[0])
        groups = ["present_not", "future_not"] if negated else ["present", "future", "modal"]
        group = self._weighted("verb_groups", groups)[1]
        subject = self._nouns.pronoun()
        clitic = _referring(noun, person=kind == "person")
        rule = self._rules["clauses"]["transitive"]
        slots: dict[str, Phrase | Lexeme] = {
            "SUBJECT": subject,
            "VG": self._filled_group(group, verb, subject, clitic),
            "OBJECT": EMPTY,
            "PLACE": EMPTY,
            "TIME": EMPTY,
        }
        return first, compose(rule["source"], rule["target"], slots)

    def _question(self) -> Phrase:
        name, rule = self._weighted("questions")
        if name == "what":
            verb = self._nouns.choice(
                [v for v in self._lexicon.transitive if "person" not in v.kinds]
            )
        else:
            verbs = self._lexicon.transitive + self._lexicon.intransitive
            verb = self._nouns.choice([v for v in verbs if rule["tense"] != "past" or v.past])
        subject, _ = self._subject(plain=True, human=_is_human(verb))
        self._note(*subject.contents[:1], verb.base)
        clitic = EMPTY
        if verb.kinds and "CLITIC" in rule["source"] and self._nouns.chance(0.25):
            clitic = self._clitic(verb, subject)
        slots = self._verb_slots(verb, _agreement(subject), clitic)
        slots["SUBJECT"] = subject
        takes_object = bool(verb.kinds) and name != "what" and not clitic.source
        slots["OBJECT"] = self._object(verb, negated=False) if takes_object else EMPTY
        slots["WH"], slots["PLACE"], slots["TIME"] = self._asked(rule["tense"])
        return compose(rule["source"], rule["target"], slots)

    def _asked(self, tense: str) -> tuple[Phrase, Phrase, Phrase]:
        """A question word, or what it could have asked for."""
        if self._nouns.chance(0.35):
            _, row = self._weighted("wh")
            return word_pair(row["source"], row["target"]), EMPTY, EMPTY
        return EMPTY, *self._circumstances(tense)

    def _relative(self, noun: Phrase, kind: str) -> Phrase:
        """A noun phrase with a relative clause."""
        verbs = [verb for verb in self._lexicon.transitive if verb.kinds != {"part"}]
        if self._nouns.chance(0.5):
            fitting = [v for v in verbs if kind == "person" or not _is_human(v)]
            verb = self._nouns.choice(fitting)
            self._note(noun.contents[0], verb.base)
            slots: dict[str, Phrase | Lexeme] = {
                "NP": noun,
                "REL": lambda _side, _form: ("who" if kind == "person" else "that",),
                "V": verb_forms(verb, _agreement(noun)),
                "OBJECT": self._object(verb, negated=False),
            }
            rule = self._rules["noun_phrases"]["who"]
        else:
            verb = self._nouns.choice([verb for verb in verbs if kind in verb.kinds])
            self._note(verb.base, noun.contents[0])
            subject = self._nouns.pronoun() if self._nouns.chance(0.5) else self._nouns.name()
            slots = {"NP": noun, "SUBJECT": subject, "V": verb_forms(verb, _agreement(subject))}
            rule = self._rules["noun_phrases"]["whom"]
        phrase = compose(rule["source"], rule["target"], slots)
        return replace(phrase, agreement=noun.agreement, contents=noun.contents)


def _is_human(verb: Verb) -> bool:
    """Whether only people do what the verb says."""
    return bool(verb.kinds) and (verb.kinds <= ONLY_HUMAN or verb.preposition is not None)


def _agreement(phrase: Phrase) -> Agreement:
    if phrase.agreement is None:
        raise ValueError(f"{phrase.source} has no agreement")
    return phrase.agreement


def _predicative(adjective: Adjective, agreement: Agreement) -> Lexeme:
    def form(side: str, form: str) -> tuple[str, ...]:
        if side == "target":
            return (adjective.form(plural=agreement.plural, feminine=agreement.feminine),)
        if form == "comparative" and adjective.comparative:
            return (adjective.comparative,)
        return (adjective.source,)

    return form


def _referring(noun: Phrase, *, person: bool) -> Phrase:
    """The object pronoun that stands for a noun phrase."""
    agreement = _agreement(noun)
    if agreement.plural:
        return word_pair("them", "les")
    if agreement.feminine:
        return word_pair("her" if person else "it", "la")
    return word_pair("him" if person else "it", "le")
