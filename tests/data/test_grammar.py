"""The program beside the built-in corpus makes the shipped file."""

import lzma
import runpy

from tests.conftest import ROOT


def test_the_program_makes_the_same_file(tmp_path):
    program = runpy.run_path(str(ROOT / "data/grammar/generate.py"))
    program["main"](["-o", str(tmp_path / "new/made.tsv.xz"), "--train", "3000", "--test", "200"])
    made = lzma.open(tmp_path / "new/made.tsv.xz", "rt", encoding="utf-8").read().splitlines()
    kept = lzma.open(ROOT / "data/grammar/corpus.tsv.xz", "rt", encoding="utf-8").read().splitlines()
    assert made == kept[:3000] + kept[20_000:20_500] + kept[20_500:20_700]


def test_no_test_sentence_is_a_training_sentence_and_every_link_points_to_words():
    lines = lzma.open(ROOT / "data/grammar/corpus.tsv.xz", "rt", encoding="utf-8").read().splitlines()
    rows = [line.split("\t") for line in lines]
    sources = {
        split: {row[1] for row in rows if row[0] == split} for split in ("train", "validation", "test")
    }
    assert not sources["train"] & (sources["validation"] | sources["test"])
    assert [len(each) for each in sources.values()] == [20_000, 500, 1000]
