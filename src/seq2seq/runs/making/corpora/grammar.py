"""The corpus of the built-in grammar."""

import hashlib
from functools import partial

from msgspec import Struct

from seq2seq.config import GrammarConfig
from seq2seq.errors import InputError
from seq2seq.grammar.grammar import LEXICON, RULES, load_grammar
from seq2seq.own_files import OWN, PACKAGE
from seq2seq.storage.cache import cached
from seq2seq.storage.plain_yaml import MOST_BYTES
from seq2seq.storage.typed_json import read_bytes
from seq2seq.text.corpus import ParallelCorpus, SentencePair

MAKER, WORDS = PACKAGE / "grammar", PACKAGE / "text" / "words.py"

WORTH_KEEPING = range(2_000, 100_001)
"""Fewer pairs are made in a moment; more are for who trains for hours."""


class _Splits(Struct):
    train: list[SentencePair]
    validation: list[SentencePair]
    test: list[SentencePair]


def read(data: GrammarConfig) -> ParallelCorpus:
    """Sample it, or find it in the user's cache folder."""
    if (data.source_language, data.target_language) != ("en", "fr"):
        raise InputError(
            "data=grammar translates en to fr only: "
            "remove data.source_language and data.target_language"
        )
    counts = data.train_pairs, data.validation_pairs, data.test_pairs
    digest = _digest(data) if sum(counts) in WORTH_KEEPING else None
    if digest is None:
        splits = _sampled(data)
    else:
        splits = cached("grammar", digest, _Splits, lambda: _sampled(data))
    return ParallelCorpus(splits.train, splits.validation, splits.test)


def _digest(data: GrammarConfig) -> str | None:
    """Of all that decides the pairs: numbers, rules, and the code that applies them.

    None where a file is none that `load_grammar` would read, which says why.
    """
    pairs = data.train_pairs, data.validation_pairs, data.test_pairs
    numbers = *pairs, data.seed, data.clauses, data.max_words
    rules = [OWN / data.folder / name for name in (RULES, LEXICON)]
    digest = hashlib.sha256(repr(numbers).encode())
    try:
        for path in [*sorted(MAKER.glob("*.py")), WORDS, *rules]:
            digest.update(read_bytes(path, MOST_BYTES))
    except (OSError, ValueError):
        return None
    return digest.hexdigest()


def _sampled(data: GrammarConfig) -> _Splits:
    grammar = load_grammar(OWN / data.folder)
    sample = partial(grammar.sample, clauses=data.clauses, max_words=data.max_words)
    try:
        return _Splits(
            train=sample(data.train_pairs, data.seed, "train"),
            validation=sample(data.validation_pairs, data.seed, "validation"),
            test=sample(data.test_pairs, data.seed, "test"),
        )
    except (KeyError, AttributeError, TypeError, ValueError, IndexError) as error:
        raise InputError(
            f"data.folder={data.folder}: lexicon and rules do not go together "
            f"({type(error).__name__}: {error})"
        ) from error


def has_test_split(_: GrammarConfig) -> bool:
    """Whether the configuration names a test split, without a look at the files."""
    return True
