"""Pairs in a file of columns, as Tatoeba and others publish them."""

from pathlib import Path

from seq2seq.config import TatoebaConfig
from seq2seq.errors import InputError
from seq2seq.runs.making.language_codes import require_language_codes
from seq2seq.text.corpus import (
    ParallelCorpus,
    SentencePair,
    hold_out,
    in_file_order,
    read_tab_separated,
)


def read(data: TatoebaConfig) -> ParallelCorpus:
    """Held out at random, or, in the order of the file, what follows the training pairs."""
    require_language_codes(data)
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


def has_test_split(data: TatoebaConfig) -> bool:
    """Whether the configuration names a test split, without a look at the files."""
    return data.test_pairs > 0
