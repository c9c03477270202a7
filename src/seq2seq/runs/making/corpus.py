"""The corpus that a configuration names. Imports no torch, so that wrong files are refused fast."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.config import (
    CORPORA,
    DATA_SCHEMAS,
    CorpusOptions,
    DataConfig,
    GrammarConfig,
    TasksConfig,
)
from seq2seq.errors import InputError
from seq2seq.plain_text import first_line
from seq2seq.registry import foreign
from seq2seq.text.corpus import ParallelCorpus, SentencePair
from seq2seq.text.words import split_words

if TYPE_CHECKING:
    from seq2seq.evaluation.alignment import GoldAlignment

Links = set[tuple[int, int]]

NUM_NEW = 3
"""Sentences that a person is given to try."""


def build_corpus(data: DataConfig) -> ParallelCorpus:
    """Read or make the corpus.

    Raises:
        InputError: a file is wrong, or options do not go together.
    """
    corpus = _read(data)
    if data.limit is not None:
        corpus = ParallelCorpus(
            corpus.train[: data.limit], corpus.validation[: data.limit], corpus.test[: data.limit]
        )
    exactly = data.limit is None
    if data.links is not None:
        where = f"data.links={data.links}", "training"
        linked = _linked(corpus.train, Path(data.links), *where, exactly=exactly)
        corpus = replace(corpus, train=linked)
    if data.validation_links is not None:
        where = f"data.validation_links={data.validation_links}", "validation"
        linked = _linked(corpus.validation, Path(data.validation_links), *where, exactly=exactly)
        corpus = replace(corpus, validation=linked)
    if data.overfit:
        corpus = replace(corpus, validation=corpus.train, test=corpus.train)
    return corpus


@contextmanager
def made_meanwhile(data: DataConfig) -> Iterator[bool]:
    """Have another process make what takes long to make, while the block runs, if anything does.

    Yields whether anything does.
    """
    if not isinstance(data, GrammarConfig):
        yield False
        return
    with _maker(data).made_meanwhile(data) as is_made:
        yield is_made


def _linked(
    pairs: Sequence[SentencePair], path: Path, given: str, split: str, *, exactly: bool
) -> list[SentencePair]:
    """Pairs with the links of a file, a line for each; `exactly` if there may not be more lines.

    Raises:
        InputError: the file is wrong, or not of these pairs.
    """
    from seq2seq.evaluation.pharaoh import read_pharaoh  # noqa: PLC0415 - numpy

    links = read_pharaoh(path)
    if len(links) < len(pairs) or (exactly and len(links) > len(pairs)):
        raise InputError(
            f"{given} has {len(links):,} lines for {len(pairs):,} {split} pairs: line n "
            "is of pair n, so that nothing may be held out of the training files"
        )
    return [
        _with_links(pair, each, f"{path}, line {number}")
        for number, (pair, each) in enumerate(zip(pairs, links, strict=False), start=1)
    ]


def _with_links(pair: SentencePair, links: "GoldAlignment", where: str) -> SentencePair:
    """A pair with links of words between white space, made ones of those of `split_words`."""
    from seq2seq.evaluation.pharaoh import require_within  # noqa: PLC0415 - numpy

    sides = [_parts(text.split()) for text in (pair.source, pair.target)]
    require_within(links, len(sides[0]), len(sides[1]), where)
    sure: Links = set()
    whole: Links = set()
    for link in links.possible:
        alike, others = _between(sides[0][link[0]], sides[1][link[1]])
        whole |= alike | others
        if link in links.sure:
            sure |= alike or others
    return replace(pair, alignment=tuple(sorted(whole)), possible=tuple(sorted(whole - sure)))


def _parts(words: Sequence[str]) -> list[dict[int, bool]]:
    """The numbers of the words that `split_words` finds in each; False of punctuation."""
    parts = [[part[0].isalnum() for part in split_words(word)] for word in words]
    ends = accumulate(map(len, parts), initial=0)
    return [dict(enumerate(each, start)) for each, start in zip(parts, ends, strict=False)]


def _between(source: dict[int, bool], target: dict[int, bool]) -> tuple[Links, Links]:
    """Links of like parts of two words, and of parts that have no like with any.

    In "bushes." and "Büsche." it is the words and the full stops that belong together. Of
    "bushes," and "Büsche" the comma has no like: the link tells nothing sure of it.
    """
    kinds = [set(side.values()) for side in (source, target)]
    every = {(i, j): (a, b) for i, a in source.items() for j, b in target.items()}
    alike = {link for link, (a, b) in every.items() if a == b}
    alone = {link for link, (a, b) in every.items() if a not in kinds[1] or b not in kinds[0]}
    return alike, alone


def new_sources(data: DataConfig, corpus: ParallelCorpus) -> list[str]:
    """Sources that the corpus could hold, too, but no split of it does; none of text in files.

    They are of the kind of the test split, drawn with another seed, and always the same.
    """
    if not isinstance(data, GrammarConfig | TasksConfig):
        return []
    other = replace(
        data, seed=data.seed + 1, train_pairs=2, validation_pairs=1, test_pairs=10 * NUM_NEW
    )
    others = _read(other).test
    held = {
        pair.source for split in (corpus.train, corpus.validation, corpus.test) for pair in split
    }
    return [pair.source for pair in others if pair.source not in held][:NUM_NEW]


def has_test_split(data: DataConfig) -> bool:
    """Whether a configuration names a test split, without a look at the files."""
    return data.overfit or _maker(data).has_test_split(data)


def _read(data: DataConfig) -> ParallelCorpus:
    maker = _maker(data)
    if not isinstance(data, CorpusOptions):
        return maker.read(data)
    try:
        with foreign(f"corpus {data.corpus!r} fails"):
            corpus = maker.read(data)
            if not isinstance(corpus, ParallelCorpus):
                raise TypeError(f"{corpus!r:.40} is no ParallelCorpus")
    except ImportError as error:
        told = error.__cause__ if isinstance(error.__cause__, InputError) else error
        raise InputError(first_line(told)) from error
    return corpus


def _maker(data: DataConfig) -> Any:
    """What reads a corpus: its module, those of others are not imported; or another package's."""
    if isinstance(data, CorpusOptions):
        corpus = CORPORA[data.corpus]
        if type(data) is not corpus.options:
            raise InputError(f"the keys are another corpus's: choose data={data.corpus}")
        return corpus
    (name,) = (name for name, schema in DATA_SCHEMAS.items() if type(data) is schema)
    return import_module(f"seq2seq.runs.making.corpora.{name}")
