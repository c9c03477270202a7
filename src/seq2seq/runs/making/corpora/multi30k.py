"""The published files of Multi30k."""

from pathlib import Path

from seq2seq.config import Multi30kConfig
from seq2seq.errors import InputError
from seq2seq.runs.making.download import download_multi30k
from seq2seq.text.corpus import ParallelCorpus
from seq2seq.text.multi30k import Selection, missing_files, read_multi30k


def read(data: Multi30kConfig) -> ParallelCorpus:
    """The files of `root`; those that are not there are fetched first."""
    root = Path(data.root)
    selection = Selection(data.source_language, data.target_language, data.test_set.value)
    missing = missing_files(root, selection)
    if missing and data.download:
        download_multi30k(data.address, root, missing)
    elif missing:
        raise InputError(
            f"data.root={root} has no {missing[0]}.gz: give the folder of the published files, or "
            "set data.download=true"
        )
    return read_multi30k(root, selection)


def has_test_split(_: Multi30kConfig) -> bool:
    """Whether the configuration names a test split, without a look at the files."""
    return True
