import numpy as np
import pytest

from seq2seq.data import PairsCorpus
from seq2seq.data.report import inspection_report, overlap, ratio_outliers, repetition, unknown_tokens
from seq2seq.data.text import SentencePair
from tests.small import tokenizers_of

USUAL = [SentencePair("a b c d e f", "u v w x y z")] * 8
LONG = SentencePair("a " * 40, "u v w x")
LONGER = SentencePair("a b c", "u " * 90)


@pytest.fixture
def tokenizers():
    return tokenizers_of([*USUAL, LONG])


def encoded(tokenizers, pairs):
    data = PairsCorpus(train=pairs, validation=pairs)
    data.tokenizers = tokenizers
    return data.encode(pairs, None, truncate=False)


def test_outliers_are_the_pairs_off_the_usual_ratio_the_worst_first(tokenizers):
    pairs = [*USUAL, LONG, LONGER]
    outliers = ratio_outliers(encoded(tokenizers, pairs))
    assert [pairs[place] for place in outliers] == [LONGER, LONG]


def test_a_language_that_is_always_longer_has_no_outliers(tokenizers):
    assert ratio_outliers(encoded(tokenizers, [SentencePair("a b", "u " * 12)] * 9)) == []
    assert ratio_outliers(encoded(tokenizers, [])) == []


def test_unknown_tokens_are_counted_by_what_they_are(tokenizers):
    assert unknown_tokens(tokenizers[0], ["a new b", "new newer"]) == {"new": 2, "newer": 1}


def test_repeated_pairs_and_ambiguous_sources_are_counted_apart():
    pairs = [SentencePair(*text) for text in ("ax", "ax", "ax", "ay", "bz", "bz")]
    assert repetition(pairs) == (3, 1)


def test_overlap_counts_whole_pairs_and_sources():
    train = [SentencePair("a", "x"), SentencePair("b", "y")]
    other = [SentencePair("a", "x"), SentencePair("b", "z"), SentencePair("c", "y")]
    assert overlap(train, other) == (1, 2)


def test_the_report_has_every_section_and_shows_what_cannot_be_seen(tokenizers):
    train = encoded(tokenizers, [*USUAL, LONG, LONGER, SentencePair("a\ue000 b", "u")])
    validation = encoded(tokenizers, USUAL[:1])
    report = inspection_report(
        {"train": train, "validation": validation},
        tokenizers=tokenizers,
        order=[np.arange(9), np.arange(9, 11)],
    )
    said = [line.strip() for line in report.splitlines()]
    for line in (
        "ratios      train: 2 of 11 pairs differ in length more than 3 times as usual",
        "3 : 90 tokens  'a b c' | 'u u u u u u u u u u u u u u u u u u u u u u u u u u u u u …",
        "unknown     train source: unknown tokens 1, different 1: U+E000 1",
        "repeated    train: pairs that repeat another 7, sources with several translations 0",
        "overlap     validation: pairs that are in train 1, pairs whose source is 1, of 1",
        "few pairs   free text needs some 10,000 pairs until translations follow the source; init_from needs fewer",
        "batches     2, of 2 to 9 pairs; padding 72.1% source, 37.1% target",
    ):
        assert line in said, report
