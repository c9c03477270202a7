"""The corpus of the built-in grammar."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from msgspec import Struct

from seq2seq.config import GrammarConfig
from seq2seq.errors import InputError
from seq2seq.grammar.grammar import LEXICON, RULES, load_grammar
from seq2seq.own_files import OWN, PACKAGE
from seq2seq.storage.cache import cached, is_wanted
from seq2seq.storage.plain_yaml import MOST_BYTES
from seq2seq.storage.typed_json import decoded, encoded, read_bytes
from seq2seq.text.corpus import ParallelCorpus, SentencePair

MAKER, WORDS = PACKAGE / "grammar", PACKAGE / "text" / "words.py"

WORTH_KEEPING = range(2_000, 100_001)
"""Fewer pairs are made in a moment; more are for who trains for hours."""

NAME = "grammar"
"""Of such values in the cache."""

MAKE = (
    f"import sys; sys.path.insert(0, sys.argv[1]); from {__name__} import make; make(sys.argv[2])"
)
"""Program of the process that makes the pairs."""


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
    digest = _digest(data)
    if digest is None:
        splits = _sampled(data)
    else:
        splits = cached(NAME, digest, _Splits, lambda: _sampled(data))
    return ParallelCorpus(splits.train, splits.validation, splits.test)


@contextmanager
def made_meanwhile(data: GrammarConfig) -> Iterator[bool]:
    """Have another process put the pairs into the cache while the block runs, if they are missing.

    Yields whether it does. Where that process fails, `read` makes the pairs, or says why not.
    """
    digest = _digest(data)
    if digest is None or not is_wanted(NAME, digest):
        yield False
        return
    nowhere = subprocess.DEVNULL
    # -P: the modules of the folder that a person works in are not this program's
    command = [sys.executable, "-P", "-c", MAKE, str(PACKAGE.parent), encoded(data)]
    with subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere) as process:
        try:
            yield True
            process.wait()
        finally:
            process.kill()


def make(data: str) -> None:
    """Put the pairs of a configuration, which is JSON, into the cache."""
    read(decoded(data.encode(), GrammarConfig))


def _digest(data: GrammarConfig) -> str | None:
    """Of all that decides the pairs: numbers, rules, and the code that applies them.

    None where the cache is no help: so few pairs are made in a moment, so many are too large, or a
    file is none that `load_grammar` would read, which says why.
    """
    pairs = data.train_pairs, data.validation_pairs, data.test_pairs
    if sum(pairs) not in WORTH_KEEPING:
        return None
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
