"""The corpus that a configuration names. Imports no torch, so that wrong files are refused fast."""

from dataclasses import replace
from pathlib import Path

from seq2seq.config import (
    DataConfig,
    FilePairConfig,
    GrammarConfig,
    Multi30kConfig,
    ParallelConfig,
    TatoebaConfig,
    ValidationFilesConfig,
)
from seq2seq.errors import InputError
from seq2seq.text.corpus import (
    ParallelCorpus,
    SentencePair,
    hold_out,
    read_parallel,
    read_tab_separated,
)
from seq2seq.text.grammar.grammar import load_grammar

PROJECT_ROOT = Path(__file__).resolve().parents[4]
"""The folder of train.py, conf/ and data/."""

MULTI30K_SPLITS = {"train": "train", "validation": "val", "test": "test_2016_flickr"}


def build_corpus(data: DataConfig, seed: int) -> ParallelCorpus:
    """Read or make the corpus.

    Raises:
        InputError: a file is wrong, or options do not go together.
    """
    corpus = _read(data, seed)
    if data.limit is not None:
        corpus = ParallelCorpus(
            corpus.train[: data.limit], corpus.validation[: data.limit], corpus.test[: data.limit]
        )
    if data.overfit:
        corpus = replace(corpus, validation=corpus.train, test=corpus.train)
    return corpus


def _read(data: DataConfig, seed: int) -> ParallelCorpus:
    match data:
        case GrammarConfig():
            return _grammar(data)
        case ParallelConfig():
            return _parallel(data, seed)
        case Multi30kConfig():
            return _multi30k(data)
        case TatoebaConfig():
            return _tatoeba(data, seed)
    raise TypeError(f"no corpus for {type(data).__name__}")


def _grammar(data: GrammarConfig) -> ParallelCorpus:
    if (data.source_language, data.target_language) != ("en", "fr"):
        raise InputError(
            "data=grammar translates en to fr only: "
            "remove data.source_language and data.target_language"
        )
    grammar = load_grammar(PROJECT_ROOT / data.folder)
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


def _parallel(data: ParallelConfig, seed: int) -> ParallelCorpus:
    train = _file_pair("data.train", data.train)
    test = _file_pair("data.test", data.test)
    if not train:
        raise InputError("data.train.source and data.train.target are needed")
    if all(pair.source == pair.target for pair in train):
        print("WARNING: source and target are the same in all training pairs: one file twice?")
    rest, validation = _validation(data.validation, train, seed)
    return ParallelCorpus(rest, validation, test)


def _validation(
    data: ValidationFilesConfig, train: list[SentencePair], seed: int
) -> tuple[list[SentencePair], list[SentencePair]]:
    """The training pairs that are left, and the validation pairs."""
    validation = _file_pair("data.validation", data)
    if bool(validation) == (data.fraction is not None):
        raise InputError(
            "data.validation needs either source and target files or a fraction of the training "
            "pairs, for example data.validation.fraction=0.02"
        )
    if data.fraction is None:
        return train, validation
    return hold_out(train, round(data.fraction * len(train)), seed)


def _file_pair(key: str, files: FilePairConfig) -> list[SentencePair]:
    """Pairs of two files; none where neither is given."""
    if files.source is None and files.target is None:
        return []
    if files.source is None or files.target is None:
        missing = "source" if files.source is None else "target"
        raise InputError(f"{key}.{missing} is needed: give both files or neither")
    return read_parallel(Path(files.source), Path(files.target))


def _tatoeba(data: TatoebaConfig, seed: int) -> ParallelCorpus:
    """Held out at random, or, in the order of the file, what follows the training pairs."""
    pairs = read_tab_separated(Path(data.file))
    if data.in_order:
        if data.train_pairs is None:
            raise InputError("data.train_pairs is needed with data.in_order=true")
        first, second = data.train_pairs, data.train_pairs + data.validation_pairs
        return ParallelCorpus(
            pairs[:first], pairs[first:second], pairs[second : second + data.test_pairs]
        )
    rest, validation = hold_out(pairs, data.validation_pairs, seed)
    rest, test = hold_out(rest, data.test_pairs, seed) if data.test_pairs else (rest, [])
    return ParallelCorpus(rest[: data.train_pairs], validation, test)


def _multi30k(data: Multi30kConfig) -> ParallelCorpus:
    if data.source_language == data.target_language:
        raise InputError(
            f"data.source_language and data.target_language are both {data.source_language}: "
            "set data.target_language to another of en, de, fr, cs"
        )
    splits = {
        name: read_parallel(
            _multi30k_file(data.root, stem, data.source_language),
            _multi30k_file(data.root, stem, data.target_language),
        )
        for name, stem in MULTI30K_SPLITS.items()
    }
    return ParallelCorpus(**splits)


def _multi30k_file(root: str, stem: str, language: str) -> Path:
    """The published file, or the same decompressed."""
    plain = Path(root) / f"{stem}.{language}"
    zipped = plain.with_name(plain.name + ".gz")
    return plain if plain.exists() and not zipped.exists() else zipped
