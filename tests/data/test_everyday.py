"""The built-in corpus of everyday sentences."""

import lzma
import runpy

import pytest

from seq2seq.common.errors import InputError
from seq2seq.data import EverydayCorpus
from tests.conftest import ROOT


def rows_of_file():
    lines = lzma.open(ROOT / "data/everyday/corpus.tsv.xz", "rt", encoding="utf-8").read().splitlines()
    return [line.split("\t") for line in lines]


def test_the_class_reads_the_file_that_comes_with_the_program():
    found = EverydayCorpus(source_language="en", target_language="fr").read()
    rows = rows_of_file()
    for name, pairs in (("train", found.train), ("validation", found.validation), ("test", found.test)):
        assert [(pair.source, pair.target) for pair in pairs] == [
            (row[1], row[2]) for row in rows if row[0] == name
        ]
    assert EverydayCorpus(train_pairs=5).read().train == found.train[:5]
    assert len(found.test) == len(found.validation) == 1000


def test_sentences_that_differ_by_a_name_a_pronoun_or_a_number_are_in_one_split(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    family = runpy.run_path(str(ROOT / "scripts/make_everyday.py"))["family"]
    assert family("He has 3 cats.", set()) == family("they have 12 cats!", set())
    assert family("Tom is here.", {"tom", "mary"}) == family("Mary is here?", {"tom", "mary"})
    assert family("Tom is here.", {"tom"}) != family("Tom is there.", {"tom"})
    names = {"tom", "mary", "john", "alice"}
    families = {}
    for name, source, *_ in rows_of_file():
        families.setdefault(family(source, names), set()).add(name)
    assert [splits for splits in families.values() if len(splits) > 1] == []


def test_a_file_of_your_own_has_three_columns_and_other_languages(tmp_path):
    path = tmp_path / "own.tsv"
    good = "train\tI run.\tIch laufe.\ntest\tHello!\tHallo!\tGuten Tag!\n"
    path.write_text(good)
    found = EverydayCorpus(file=str(path), target_language="de").read()
    assert [(pair.source, pair.target) for pair in found.test] == [("Hello!", "Hallo!")]
    path.write_text(f"{good}dev\tI run.\tIch laufe.\n")
    with pytest.raises(InputError) as refused:
        EverydayCorpus(file=str(path)).read()
    assert str(refused.value).startswith(f"{path}, line 3: split, source and target are expected")


def test_the_corpus_that_comes_with_the_program_is_in_two_languages():
    with pytest.raises(InputError, match="data=everyday translates en into fr, not en into de: leave out"):
        EverydayCorpus(source_language="en", target_language="de")
