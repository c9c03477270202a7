"""Files of two languages, line by line."""

from seq2seq.config import FilePairConfig, ParallelConfig, ValidationFilesConfig
from seq2seq.errors import InputError
from seq2seq.runs.making.language_codes import require_language_codes
from seq2seq.text.corpus import ParallelCorpus, SentencePair, Shard, hold_out
from seq2seq.text.shards import are_larger, find_shards, first_pairs, read_shards, require_readable

MEGABYTE = 10**6


def read(data: ParallelConfig) -> ParallelCorpus:
    """Read the files, or, where they are too large to hold, name them."""
    require_language_codes(data)
    shards = _shards("data.train", data.train)
    if not shards:
        raise InputError("data.train.source and data.train.target are needed")
    is_large = are_larger(shards, data.store_from * MEGABYTE)
    if is_large and data.limit is None:
        if data.overfit:
            raise InputError("data.overfit=true needs data.limit for a corpus of this size")
        if data.both_directions:
            raise InputError(
                "data.both_directions=true needs a corpus that memory holds: raise data.store_from"
            )
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


def has_test_split(data: ParallelConfig) -> bool:
    """Whether the configuration names a test split, without a look at the files."""
    return data.test.source is not None
