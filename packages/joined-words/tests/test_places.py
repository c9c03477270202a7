import gzip
import re

import numpy as np
import pytest

from seq2seq.data.text import SentencePair
from seq2seq.evaluation.alignment import (
    AlignmentCounts,
    GoldAlignment,
    argmax_links,
    merge_words,
    word_indices,
)
from tests.small import tokenizers_of

PIECES = ["▁The", "▁cat", "s", "▁sl", "ee", "p", ".", "<eos>"]
WORDS = ["The", "cats", "sleep", "."]


def random_weights(rows, columns, seed=0):
    weights = np.random.default_rng(seed).random((rows, columns))
    return weights / weights.sum(axis=1, keepdims=True)


def listed(indices):
    return [list(each) for each in indices]


def places(words):
    """Return the indices of the words of tokens that have one each."""
    return [range(int(word), int(word) + 1) for word in words]


def test_pieces_belong_to_the_words_that_white_space_separates():
    assert listed(word_indices(PIECES)) == [[0], [1], [1], [2], [2], [2], [2], []]


def test_pieces_follow_any_other_split_of_the_same_text():
    assert listed(word_indices(PIECES, WORDS)) == [[0], [1], [1], [2], [2], [2], [3], []]


def test_words_are_words_and_unknown_ones_too():
    tokens = ["The", "<unk>", "sleeps", ".", "<eos>", "<pad>"]
    assert listed(word_indices(tokens)) == [[0], [1], [2], [3], [], []]
    assert listed(word_indices(["The", "cat", "."], ["The", "cat."])) == [[0], [1], [1]]


@pytest.mark.parametrize(
    ("pieces", "words", "expected"),
    [
        (["▁", "Hé", "▁", "▁ho", "▁"], ["Hé", "ho"], [[0], [0], [1], [1], [1]]),
        (["▁a", "<0xE2>", "<0x82>", "<0xAC>", "▁b"], ["a€", "b"], [[0], [0], [0], [0], [1]]),
        (["▁n", "<0xC2>", "<0xA0>", "4", "▁b"], ["n", "4", "b"], [[0], [1], [1], [1], [2]]),
        (["▁n", "<0xE2>", "<0x80>", "<0xAF>", "▁b"], ["n", "b"], [[0], [1], [1], [1], [1]]),
        (["▁a", "<0xE2>", "<0x82>", "<0xAC>", "b", "▁c"], None, [[0], [0], [0], [0], [0], [1]]),
        (["▁a", "<0xE2>", "b"], None, [[0], [0], [0]]),
        (["▁n", "<0xC2>", "<0xA0>", "4"], None, [[0], [1], [1], [1]]),
        (["▁aujourd", "'", "hui"], ["aujourd'", "hui"], [[0], [0], [1]]),
        (["▁a", "b▁c", "d"], ["ab", "cd"], [[0], [0, 1], [1]]),
        (["▁自行车", "很", "<0xE5>", "<0xA5>", "<0xBD>", "。"], [*"自行车很好。"], [[0, 1, 2], [3], [4], [4], [4], [5]]),
    ],
    ids=["blanks", "bytes", "a space in bytes", "a space in bytes at an end", "bytes, own words", "part of a sign",
         "a space in bytes, own words", "apostrophe", "space inside", "letters of Chinese"],
)  # fmt: skip
def test_a_piece_belongs_to_all_words_that_it_has_a_part_of(pieces, words, expected):
    assert listed(word_indices(pieces, words)) == expected


def test_sentences_of_multi30k_with_unusual_white_space_are_spelled_to_their_end(real_data, tmp_path):
    with gzip.open(real_data / "multi30k" / "train.de.gz", "rt", newline="\n") as file:
        texts = [line.rstrip("\n") for line in file]
    unusual = [text for text in texts if re.search(r"[^\S ]", text)]
    assert len(unusual) > 40
    pairs = [SentencePair(text, text) for text in texts[:2000]]
    tokenizer, _ = tokenizers_of(pairs, tokenizer="bpe", vocab_size=500)
    for text in unusual:
        words = text.split()
        assert word_indices(tokenizer.tokens(text), words)[-1][-1] == len(words) - 1


def test_signs_that_tokens_leave_out_shift_nothing():
    words = ["he", "said", '"', "Yes", '"', ";", "to", "me", ":", "now", '"']
    assert listed(word_indices(["he", "said", "yes", "to", "me", "now"], words)) == [
        [0],
        [1],
        [3],
        [6],
        [7],
        [9],
    ]


@pytest.mark.parametrize(
    ("tokens", "words"),
    [(["<unk>"], ["word"]), (["a", "c"], ["a", "b", "c"]), (["▁a"], ["a", "b"]), (["d"], ["a"])],
)
def test_tokens_that_do_not_spell_the_words_are_refused(tokens, words):
    with pytest.raises(ValueError, match=f"{tokens[-1]} do not spell"):
        word_indices(tokens, words)


def test_all_words_of_a_token_have_its_link():
    source, target = (word_indices(["a", "b"]), word_indices(["▁qu'il", "▁vient"], ["qu'", "il", "vient"]))
    links = argmax_links(merge_words([[0.1, 0.9], [0.7, 0.3]], source, target))
    assert links == {(1, 0), (1, 1), (0, 2)}


def test_a_word_without_a_token_has_no_link():
    words = ["he", "said", '"', "Yes", '"', "now"]
    tokens = word_indices(["he", "said", "yes", "now"], words)
    assert argmax_links(merge_words(np.eye(4), tokens, tokens)) == {(0, 0), (1, 1), (3, 3), (5, 5)}


def test_a_source_token_of_several_words_shares_its_weight():
    merged = merge_words([[0.2, 0.6, 0.2]], [range(1), range(1, 4), range(3, 4)], [range(2)])
    np.testing.assert_allclose(merged, [[0.2, 0.2, 0.2, 0.4]] * 2)


def test_no_token_has_no_word():
    assert word_indices([]) == []
    assert listed(word_indices(["<eos>"])) == [[]]
    assert listed(word_indices(["a"], [])) == [[]]


@pytest.mark.parametrize("seed", range(5))
def test_merging_keeps_the_mass_of_each_row(seed):
    source, target = word_indices(PIECES), word_indices(["▁Les", "▁ch", "ats", "▁dorm", "ent", "."])
    weights = random_weights(len(target), len(source), seed)
    merged = merge_words(weights, source, target)
    assert merged.shape == (3, 3)
    kept = 1 - weights[:, -1]  # all but the mass of <eos>
    expected = [kept[0], kept[1:3].mean(), kept[3:].mean()]
    np.testing.assert_allclose(merged.sum(axis=1), expected)


def test_merging_sums_source_columns_and_averages_target_rows():
    weights = [[0.1, 0.2, 0.7], [0.3, 0.5, 0.2], [0.0, 0.6, 0.4]]
    merged = merge_words(weights, *map(places, ("001", "011")))
    np.testing.assert_allclose(merged, [[0.3, 0.7], [0.7, 0.3]])


def test_padding_beyond_the_tokens_is_ignored():
    weights = random_weights(2, 3)
    wide = np.pad(weights, ((0, 4), (0, 2)), constant_values=9)
    np.testing.assert_array_equal(
        merge_words(wide, *map(places, ("011", "01"))), merge_words(weights, *map(places, ("011", "01")))
    )


def test_argmax_links_every_target_word_once():
    weights = [[0.5, 0.4, 0.1], [0.1, 0.2, 0.7], [0.35, 0.3, 0.35]]
    assert argmax_links(weights) == {(0, 0), (2, 1), (0, 2)}
    assert argmax_links([[0.0, 0.0], [0.1, 0.5]]) == {(1, 1)}  # the first word has no token
    assert argmax_links(np.zeros((2, 0))) == frozenset()


GOLD = GoldAlignment.from_links([(0, 0), (1, 1), (2, 1), (2, 2)], only_possible=[(2, 1)])


def test_the_error_rate_of_gold_against_itself_is_zero():
    for links in (GOLD.sure, GOLD.possible):
        counts = AlignmentCounts.of(links, GOLD)
        assert counts.error_rate == 0
        assert counts.precision == counts.recall == 1


def test_the_error_rate_is_that_of_och_and_ney():
    # A has 3 links, 1 sure, 1 possible only, 1 wrong; S has 3
    counts = AlignmentCounts.of(frozenset({(0, 0), (2, 1), (0, 2)}), GOLD)
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == pytest.approx(1 / 3)
    assert counts.error_rate == pytest.approx(1 - (1 + 2) / (3 + 3))


def test_counts_of_pairs_add_up():
    one = AlignmentCounts.of(frozenset({(0, 0)}), GOLD)
    other = AlignmentCounts.of(frozenset({(5, 5), (1, 1)}), GOLD)
    total = one + other
    assert (total.num_links, total.num_sure) == (3, 6)
    assert (total.num_found_sure, total.num_found_possible) == (2, 2)


def test_nothing_found_where_nothing_is_to_find_is_no_error():
    assert AlignmentCounts().metrics() == {"aer": 0.0, "precision": 1.0, "recall": 1.0}
    assert AlignmentCounts.of(frozenset(), GOLD).error_rate == 1
