"""The corpus of the built-in grammar."""

from seq2seq.config import GrammarConfig
from seq2seq.errors import InputError
from seq2seq.grammar.grammar import load_grammar
from seq2seq.own_files import OWN
from seq2seq.text.corpus import ParallelCorpus


def read(data: GrammarConfig) -> ParallelCorpus:
    """Sample it."""
    if (data.source_language, data.target_language) != ("en", "fr"):
        raise InputError(
            "data=grammar translates en to fr only: "
            "remove data.source_language and data.target_language"
        )
    grammar = load_grammar(OWN / data.folder)
    try:
        return ParallelCorpus(
            train=grammar.sample(data.train_pairs, data.seed, "train"),
            validation=grammar.sample(data.validation_pairs, data.seed, "validation"),
            test=grammar.sample(data.test_pairs, data.seed, "test"),
        )
    except (KeyError, AttributeError, TypeError, ValueError, IndexError) as error:
        raise InputError(
            f"data.folder={data.folder}: lexicon and rules do not go together "
            f"({type(error).__name__}: {error})"
        ) from error


def has_test_split(_: GrammarConfig) -> bool:
    """Whether the configuration names a test split, without a look at the files."""
    return True
