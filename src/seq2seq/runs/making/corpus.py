"""The corpus that a configuration names. Imports no torch, so that wrong files are refused fast."""

from dataclasses import replace
from importlib import import_module
from typing import Any

from seq2seq.config import DATA_SCHEMAS, DataConfig
from seq2seq.text.corpus import ParallelCorpus


def build_corpus(data: DataConfig) -> ParallelCorpus:
    """Read or make the corpus.

    Raises:
        InputError: a file is wrong, or options do not go together.
    """
    corpus = _module_of(data).read(data)
    if data.limit is not None:
        corpus = ParallelCorpus(
            corpus.train[: data.limit], corpus.validation[: data.limit], corpus.test[: data.limit]
        )
    if data.overfit:
        corpus = replace(corpus, validation=corpus.train, test=corpus.train)
    return corpus


def has_test_split(data: DataConfig) -> bool:
    """Whether a configuration names a test split, without a look at the files."""
    return data.overfit or _module_of(data).has_test_split(data)


def _module_of(data: DataConfig) -> Any:
    """The module of a corpus; those of the others are not imported."""
    (name,) = (name for name, schema in DATA_SCHEMAS.items() if type(data) is schema)
    return import_module(f"seq2seq.runs.making.corpora.{name}")
