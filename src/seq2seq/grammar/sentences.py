"""Random sentences: clauses joined together, and questions."""

from seq2seq.grammar.clauses import Clauses, is_human
from seq2seq.grammar.phrase import (
    EMPTY,
    Lexeme,
    Phrase,
    agreement_of,
    compose,
    word_pair,
)
from seq2seq.grammar.phrases import SPECIFIC, Combination, Rule

JOINING = ("and", "but", "because")
"""Sentences of two clauses."""


class Sentences(Clauses):
    """Makes random sentences, and tells which content words each combines."""

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
