"""The grammar as a corpus: distinct sentence pairs, split by the combinations they hold."""

import random
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seq2seq.errors import InputError
from seq2seq.grammar.french import spell
from seq2seq.grammar.lexicon import Lexicon, Verb, load_lexicon
from seq2seq.grammar.phrase import Phrase
from seq2seq.grammar.phrases import Combination, Rule, Rules
from seq2seq.grammar.sentences import Sentences
from seq2seq.storage.plain_yaml import load_plain_yaml
from seq2seq.storage.typed_json import converted
from seq2seq.text.corpus import SentencePair
from seq2seq.text.words import join_words

RULES, LEXICON = "rules.yaml", "lexicon.yaml"

Split = Literal["train", "validation", "test"]

TEST_SHARE = 6
VALIDATION_SHARE = 3
"""Per cent of the word combinations that only the test and the validation split hold."""

MAX_TRIES_PER_PAIR = 200


@dataclass(frozen=True, slots=True)
class Grammar:
    """A synchronous grammar of English and French."""

    lexicon: Lexicon
    rules: Rules

    def sample(
        self, count: int, seed: int, split: Split, *, clauses: int = 1, max_words: int = 24
    ) -> list[SentencePair]:
        """Distinct pairs of a split, with their gold word alignment.

        Every combination of content words, such as a verb and its object or a noun and its
        adjective, belongs to one split by a hash of its words. A test sentence holds at least one
        combination of the test split, and so one that no training sentence holds; likewise for
        validation.

        The combinations of a split do not depend on the seed.

        Args:
            count: pairs.
            seed: of what is sampled.
            split: theirs.
            clauses: the most that a sentence joins; each number of them is equally frequent.
            max_words: of an English sentence, punctuation included.

        Raises:
            InputError: the grammar does not make so many different pairs.
        """
        sentences = Sentences(self.lexicon, self.rules, random.Random(f"{seed} {split}"))
        pairs: dict[str, SentencePair] = {}
        for _ in range(MAX_TRIES_PER_PAIR * count):
            phrase, combinations = sentences.sentence(len(pairs) % clauses + 1)
            if len(phrase.source) <= max_words and split_of(combinations) == split:
                pair = _pair(spell(phrase))
                pairs.setdefault(pair.source, pair)
                if len(pairs) == count:
                    return list(pairs.values())
        raise InputError(f"the grammar makes fewer than {count:,} different {split} pairs")

    def content_words(self) -> frozenset[str]:
        """French nouns, names, adjectives, verbs and adverbs; no auxiliaries, no modal verbs."""
        lexicon = self.lexicon
        verbs = *lexicon.transitive, *lexicon.prepositional, *lexicon.intransitive
        helping = *lexicon.auxiliaries.values(), *lexicon.modals
        entries = (
            *lexicon.adverbs.values(),
            *(p for of in lexicon.times.values() for p in of.values()),
        )
        described = (form for noun in lexicon.nouns for form in noun.target)
        forms = (form for adjective in lexicon.adjectives for form in adjective.target)
        content = *(name for name, _ in lexicon.names), *described, *forms, *_forms(verbs), *entries
        determiners = (form or "" for each in lexicon.determiners for form in each.target)
        return _words(content) - _words((*determiners, *_forms(helping)))


def _forms(verbs: Iterable[Verb]) -> Iterator[str]:
    for verb in verbs:
        yield from (verb.infinitive, *verb.finite, verb.participle)


def _words(entries: Iterable[str]) -> frozenset[str]:
    """The words of entries of the lexicon, of which some bear the names of links."""
    return frozenset(part.partition(":")[0] for entry in entries for part in entry.split())


def load_grammar(folder: Path) -> Grammar:
    """Read `RULES` and `LEXICON`.

    Raises:
        InputError: one of them is missing or malformed.
    """
    path = folder / RULES
    try:
        groups = converted(load_plain_yaml(path), dict[str, dict[str, dict[str, Any]]])
        rules = {
            group: {name: converted(rule, Rule, f"{group}.{name}") for name, rule in each.items()}
            for group, each in groups.items()
        }
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    return Grammar(load_lexicon(folder / LEXICON), rules)


def split_of(combinations: set[Combination]) -> Split | None:
    """The split of a sentence with these combinations; None where it would belong to two."""
    held_out = {_held_out(combination) for combination in combinations} - {None}
    if len(held_out) > 1:
        return None
    return held_out.pop() if held_out else "train"


def _held_out(combination: Combination) -> Split | None:
    share = zlib.crc32("|".join(combination).encode()) % 100
    if share < TEST_SHARE:
        return "test"
    return "validation" if share < TEST_SHARE + VALIDATION_SHARE else None


def _pair(phrase: Phrase) -> SentencePair:
    return SentencePair(
        source=join_words(_capitalised(phrase.source), "en"),
        target=join_words(_capitalised(phrase.target), "fr"),
        alignment=tuple(sorted(phrase.links)),
        possible=tuple(sorted(phrase.possible)),
    )


def _capitalised(words: tuple[str, ...]) -> list[str]:
    first, *rest = words
    return [first[0].upper() + first[1:], *rest]
