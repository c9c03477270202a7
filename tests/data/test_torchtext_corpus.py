"""Datasets of torchtext 0.6, as old notebooks make them."""

from functools import partial

import pytest
from torchtext.data import BucketIterator, Dataset, Example, Field

from seq2seq.common.errors import InputError
from seq2seq.data import TorchtextCorpus
from seq2seq.data.tokenizers import CharacterTokenizer, WhitespaceTokenizer

PAIRS = [("The cat sleeps .", "Le chat dort ."), ("A dog .", "Un chien .")]


def dataset(tokenize=str.split):
    source = Field(tokenize=tokenize, include_lengths=True, init_token="<sos>", lower=True)
    fields = [("src", source), ("trg", Field(tokenize=str.split))]
    return Dataset([Example.fromlist(pair, fields) for pair in PAIRS], fields)


def read(given, tokenizer=WhitespaceTokenizer):
    corpus = TorchtextCorpus(
        dataset=given, source_language="en", target_language="fr", tokenizer=partial(tokenizer),
        target_tokenizer=partial(WhitespaceTokenizer),
    )  # fmt: skip
    return [(pair.source, pair.target) for pair in corpus.read().train]


def test_datasets_and_iterators_over_them_are_read(capsys):
    expected = [(source.lower(), target) for source, target in PAIRS]
    assert read((dataset(), dataset())) == expected
    iterators = BucketIterator.splits((dataset(), dataset()), batch_size=2, sort_key=len)
    assert read(iterators) == expected
    assert not capsys.readouterr().err


def test_characters_are_no_words(capsys):
    expected = [(source.lower(), target) for source, target in PAIRS]
    assert read((dataset(list), dataset(list)), CharacterTokenizer) == expected
    assert not capsys.readouterr().err
    assert read((dataset(list), dataset(list))) == expected
    assert "tokenizer=characters" in capsys.readouterr().err


def test_what_holds_no_examples_is_named():
    with pytest.raises(InputError, match="dict, Dataset"):
        read(({}, dataset()))
    with pytest.raises(InputError, match="nothing"):
        read(())
