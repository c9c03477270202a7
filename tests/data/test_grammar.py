"""The program beside the built-in corpus makes the shipped file."""

import lzma
import runpy

import pytest

from seq2seq.common.errors import InputError
from seq2seq.data import GrammarCorpus, SentencePair
from tests.conftest import ROOT


def test_the_program_makes_the_same_file(tmp_path):
    program = runpy.run_path(str(ROOT / "data/grammar/generate.py"))
    program["main"](["-o", str(tmp_path / "new/made.tsv.xz"), "--train", "500", "--test", "200"])
    made = lzma.open(tmp_path / "new/made.tsv.xz", "rt", encoding="utf-8").read().splitlines()
    kept = lzma.open(ROOT / "data/grammar/corpus.tsv.xz", "rt", encoding="utf-8").read().splitlines()
    assert made == kept[:500] + kept[20_000:20_500] + kept[20_500:20_700]


def test_no_test_sentence_is_a_training_sentence_and_every_link_points_to_words():
    lines = lzma.open(ROOT / "data/grammar/corpus.tsv.xz", "rt", encoding="utf-8").read().splitlines()
    rows = [line.split("\t") for line in lines]
    sources = {
        split: {row[1] for row in rows if row[0] == split} for split in ("train", "validation", "test")
    }
    assert not sources["train"] & (sources["validation"] | sources["test"])
    assert [len(each) for each in sources.values()] == [20_000, 500, 1000]
    GrammarCorpus(file=str(ROOT / "data/grammar/corpus.tsv.xz")).read()  # a file by name is checked


def test_links_of_a_file_of_your_own_are_between_its_words(tmp_path):
    path = tmp_path / "own.tsv"
    good = "train\tI run.\tJe cours.\t0-0 1p1 2-2\n"
    path.write_text(good)
    assert GrammarCorpus(file=str(path)).read().train == [
        SentencePair("I run.", "Je cours.", ((0, 0), (1, 1), (2, 2)), ((1, 1),))
    ]
    for links, said in (
        ("0-0 50-60", "link 50-60 is outside the sentence pair of 3 and 3 words: count words and punctuation marks apart"),
        ("3-0", "link 3-0 is outside"),
        ("0-3", "link 0-3 is outside"),
        ("0:0", "'0:0' is no link"),
    ):  # fmt: skip
        path.write_text(f"{good}test\tI run.\tJe cours.\t{links}\n")
        with pytest.raises(InputError) as refused:
            GrammarCorpus(file=str(path)).read()
        assert str(refused.value).startswith(f"{path}, line 2: {said}")
