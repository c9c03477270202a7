"""The corpus that a configuration names. Imports no torch, so that wrong files are refused fast."""

import re
from dataclasses import replace
from pathlib import Path

from seq2seq.config import (
    DataConfig,
    FilePairConfig,
    GrammarConfig,
    HubConfig,
    Multi30kConfig,
    ParallelConfig,
    TatoebaConfig,
    ValidationFilesConfig,
)
from seq2seq.errors import InputError
from seq2seq.grammar.grammar import load_grammar
from seq2seq.runs.run_folder import PROJECT_ROOT
from seq2seq.text.corpus import (
    ParallelCorpus,
    SentencePair,
    Shard,
    hold_out,
    in_file_order,
    read_tab_separated,
)
from seq2seq.text.huggingface import HubDataset, HubSplits
from seq2seq.text.languages import LETTERS, nearest_language
from seq2seq.text.multi30k import Selection, missing_files, read_multi30k
from seq2seq.text.shards import (
    are_larger,
    find_shards,
    first_pairs,
    read_shards,
    require_readable,
)

MEGABYTE = 10**6


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
    if data.overfit:
        corpus = replace(corpus, validation=corpus.train, test=corpus.train)
    return corpus


def has_test_split(data: DataConfig) -> bool:
    """Whether a configuration names a test split, without a look at the files."""
    match data:
        case ParallelConfig():
            return data.overfit or data.test.source is not None
        case TatoebaConfig():
            return data.overfit or data.test_pairs > 0
        case HubConfig():
            return data.overfit or data.test_split is not None
    return True


def _read(data: DataConfig) -> ParallelCorpus:
    match data:
        case GrammarConfig():
            return _grammar(data)
        case ParallelConfig():
            return _parallel(data)
        case Multi30kConfig():
            return _multi30k(data)
        case TatoebaConfig():
            return _tatoeba(data)
        case HubConfig():
            return _hub(data)
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


LANGUAGE_CODE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]+)*")


def _check_language_codes(data: DataConfig) -> None:
    """Refuse what is no language code, such as a language's name."""
    for key in ("source_language", "target_language"):
        code = getattr(data, key)
        if not LANGUAGE_CODE.fullmatch(code):
            raise InputError(
                f"data.{key}={code} is no language code{nearest_language(code, LETTERS)}; "
                "write it as in en, de or pt-BR"
            )


def _parallel(data: ParallelConfig) -> ParallelCorpus:
    _check_language_codes(data)
    shards = _shards("data.train", data.train)
    if not shards:
        raise InputError("data.train.source and data.train.target are needed")
    is_large = are_larger(shards, data.store_from * MEGABYTE)
    if is_large and data.limit is None:
        if data.overfit:
            raise InputError("data.overfit=true needs data.limit for a corpus of this size")
        require_readable(shards)
        validation = _validation_files(data.validation)
        return ParallelCorpus((), validation, _pairs("data.test", data.test), large=shards)
    train = _limited(shards, data) if is_large else read_shards(shards)
    test = _pairs("data.test", data.test)
    validation = _validation_files(data.validation)
    if all(pair.source == pair.target for pair in train):
        print("WARNING: source and target are the same in all training pairs: one file twice?")
    if data.validation.fraction is not None:
        count = round(data.validation.fraction * len(train))
        train, validation = hold_out(train, count, data.split_seed)
    return ParallelCorpus(train, validation, test)


def _limited(shards: tuple[Shard, ...], data: ParallelConfig) -> list[SentencePair]:
    """Pairs enough for `data.limit` of each split."""
    num_splits = 1 if data.validation.fraction is None else 2  # half at most is held out
    return first_pairs(shards, num_splits * (data.limit or 0))


def _validation_files(data: ValidationFilesConfig) -> list[SentencePair]:
    """The pairs of the validation files; none where pairs are held out."""
    validation = _pairs("data.validation", data)
    if bool(validation) == (data.fraction is not None):
        raise InputError(
            "data.validation needs either source and target files or a fraction of the training "
            "pairs, for example data.validation.fraction=0.02"
        )
    return validation


def _pairs(key: str, files: FilePairConfig) -> list[SentencePair]:
    """Pairs of all files; none where none are given."""
    return read_shards(_shards(key, files))


def _shards(key: str, files: FilePairConfig) -> tuple[Shard, ...]:
    """The files of both sides; none where neither is given."""
    if files.source is None and files.target is None:
        return ()
    if files.source is None or files.target is None:
        missing = "source" if files.source is None else "target"
        raise InputError(f"{key}.{missing} is needed: give both files or neither")
    if files.source == files.target:
        raise InputError(f"{key}.source and {key}.target are both {files.source}: give two files")
    return find_shards(files.source, files.target)


def _tatoeba(data: TatoebaConfig) -> ParallelCorpus:
    """Held out at random, or, in the order of the file, what follows the training pairs."""
    _check_language_codes(data)
    pairs = read_tab_separated(Path(data.file))
    if data.in_order:
        if data.train_pairs is None:
            raise InputError("data.train_pairs is needed with data.in_order=true")
        sizes = (data.train_pairs, data.validation_pairs, data.test_pairs)
        return ParallelCorpus(*in_file_order(pairs, sizes))
    rest, validation = hold_out(pairs, data.validation_pairs, data.split_seed)
    test: list[SentencePair] = []
    if data.test_pairs:
        rest, test = hold_out(rest, data.test_pairs, data.split_seed)
    if data.train_pairs is not None and data.train_pairs > len(rest):
        raise InputError(
            f"data.train_pairs={data.train_pairs}: {data.file} leaves {len(rest):,} pairs for "
            "training: ask for fewer, or set data.train_pairs=null"
        )
    return ParallelCorpus(rest[: data.train_pairs], validation, test)


def _multi30k(data: Multi30kConfig) -> ParallelCorpus:
    """The files of `root`; those that are not there are fetched first."""
    root = Path(data.root)
    selection = Selection(data.source_language, data.target_language, data.test_set.value)
    missing = missing_files(root, selection)
    if missing and data.download:
        # not imported by users of other corpora
        from seq2seq.runs.making.download import download_multi30k  # noqa: PLC0415

        download_multi30k(data.address, root, missing)
    elif missing:
        raise InputError(
            f"data.root={root} has no {missing[0]}.gz: give the folder of the published files, or "
            "set data.download=true"
        )
    return read_multi30k(root, selection)


def _hub(data: HubConfig) -> ParallelCorpus:
    if (data.validation_split is None) == (data.validation_fraction is None):
        raise InputError(
            "data.validation_split and data.validation_fraction: give one of them, for example "
            "data.validation_split=validation, and set the other to null"
        )
    splits = HubSplits(
        HubDataset(
            name=data.dataset,
            subset=data.subset,
            revision=data.revision,
            column=data.column,
            languages=(data.source_language, data.target_language),
        )
    )
    train = splits.pairs("data.train_split", data.train_split)
    test = [] if data.test_split is None else splits.pairs("data.test_split", data.test_split)
    if data.validation_split is not None:
        validation = splits.pairs("data.validation_split", data.validation_split)
    else:
        count = round((data.validation_fraction or 0) * len(train))
        train, validation = hold_out(train, count, data.split_seed)
    return ParallelCorpus(train, validation, test)
