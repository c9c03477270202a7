"""Training pairs that `data.filter` leaves out, and their counts."""

import pytest

from seq2seq.common.errors import InputError
from seq2seq.data import GrammarCorpus, PairsCorpus
from seq2seq.data.filter import Filter
from tests.conftest import TINY
from tests.small import train

USUAL = [
    (f"this is the sentence number {n} of these", f"dies ist Satz Nummer {n} von diesen") for n in range(9)
]
SHORT, LONG = ("hi", "guten Tag allen"), ("this is the sentence number of", "Satz " * 40)
PAIRS = [*USUAL, USUAL[0], ("The same!", "the same"), LONG, ("", ""), SHORT]


@pytest.mark.parametrize(
    ("options", "gone"),
    [
        ({}, []),
        ({"duplicates": True}, [9]),
        ({"same": True}, [10]),
        ({"max_ratio": 3}, [11]),
        ({"max_ratio": 3, "duplicates": True, "same": True}, [9, 10, 11]),
    ],
)
def test_pairs_are_left_out_for_each_reason(options, gone):
    left = [pair for number, pair in enumerate(PAIRS) if number not in gone]
    data = PairsCorpus(train=PAIRS, validation=USUAL, filter=options)
    assert [pair.texts for pair in data.splits.train] == left
    assert len(data.notes) == bool(options)
    for note in data.notes:
        assert f"{len(gone)} pair" in note
        assert all(f"1 by {name}" in note for name in options)


def test_a_ratio_that_is_usual_in_a_corpus_is_none_of_the_odd_ones():
    wide = [("x" * 60, "y" * 15)] * 5 + [("x" * 20, "y" * 40)]
    data = PairsCorpus(train=wide, validation=wide, filter=Filter(max_ratio=2))
    assert [pair.texts for pair in data.splits.train] == wide[:5]


def test_the_counts_are_told_and_logged(program, tmp_path):
    given = "data.filter.duplicates=true", "data.filter.max_ratio=3"
    told = program(*TINY, *given, "trainer.max_epochs=1", cwd=tmp_path, check=0).text
    (line,) = [each for each in told.splitlines() if each.startswith("filter ")]
    assert line in (tmp_path / "runs/baseline/debug_fast/train.log").read_text(encoding="utf-8")


def test_a_wrong_ratio_and_a_filter_that_leaves_nothing_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"data\.filter\.max_ratio=1"):
        train("debug=fast", "data.filter.max_ratio=1")
    with pytest.raises(InputError, match="no training pair"):
        PairsCorpus(train=[("a", "a")], validation=USUAL, filter={"same": True}).splits  # noqa: B018


def test_the_first_pairs_are_counted_after_the_filter_in_the_grammar_too():
    options = {"source_language": "en", "target_language": "fr", "max_examples": 50}
    assert len(GrammarCorpus(**options, filter={"max_ratio": 1.2}).splits.train) == 50
