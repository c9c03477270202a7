"""Datasets in the format of the Hugging Face Hub."""

from seq2seq.config import HubConfig
from seq2seq.errors import InputError
from seq2seq.text.corpus import ParallelCorpus, hold_out
from seq2seq.text.huggingface import HubDataset, HubSplits


def read(data: HubConfig) -> ParallelCorpus:
    """Read its splits."""
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


def has_test_split(data: HubConfig) -> bool:
    """Whether the configuration names a test split, without a look at the files."""
    return data.test_split is not None
