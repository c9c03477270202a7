"""Random clauses."""

from collections.abc import Sequence
from dataclasses import replace

from seq2seq.grammar.lexicon import Adjective, Verb
from seq2seq.grammar.phrase import (
    EMPTY,
    Agreement,
    Lexeme,
    Phrase,
    agreement_of,
    compose,
    word_pair,
)
from seq2seq.grammar.phrases import COUNTED, SPECIFIC, NounPhrases, Rule
from seq2seq.grammar.verbs import auxiliary, be, do, verb_forms

SAME_PERSON = {("I", "me"), ("I", "us"), ("we", "us"), ("we", "me"), ("you", "you")}
ONLY_HUMAN = frozenset({"text", "clothing", "thing", "vehicle", "part"})
"""What animals do not handle."""
CAN_SEE = ("person", "animal", "thing", "clothing", "vehicle", "place", "food", "text")


class Clauses(NounPhrases):
    """Makes random clauses, and notes which content words they combine."""

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

    def verb_slots(
        self, verb: Verb, agreement: Agreement, clitic: Phrase
    ) -> dict[str, Phrase | Lexeme]:
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
