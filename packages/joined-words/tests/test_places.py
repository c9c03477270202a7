"""The words that tokens of any tokenizer are parts of."""

import pytest

from joined_words import word_indices

PIECES = ["▁The", "▁cat", "s", "▁sl", "ee", "p", ".", "<eos>"]
WORDS = ["The", "cats", "sleep", "."]


def listed(indices):
    return [list(each) for each in indices]


def test_pieces_belong_to_the_words_that_white_space_separates():
    assert listed(word_indices(PIECES, ["The", "cats", "sleep."])) == [[0], [1], [1], [2], [2], [2], [2], []]


def test_pieces_follow_any_other_split_of_the_same_text():
    assert listed(word_indices(PIECES, WORDS)) == [[0], [1], [1], [2], [2], [2], [3], []]


def test_words_are_words_and_unknown_ones_too():
    tokens = ["The", "<unk>", "sleeps", ".", "<eos>", "<pad>"]
    assert listed(word_indices(tokens, tokens[:4])) == [[0], [1], [2], [3], [], []]
    assert listed(word_indices(["The", "cat", "."], ["The", "cat."])) == [[0], [1], [1]]


@pytest.mark.parametrize(
    ("pieces", "words", "expected"),
    [
        (["▁", "Hé", "▁", "▁ho", "▁"], ["Hé", "ho"], [[0], [0], [1], [1], [1]]),
        (["▁a", "<0xE2>", "<0x82>", "<0xAC>", "▁b"], ["a€", "b"], [[0], [0], [0], [0], [1]]),
        (["▁n", "<0xC2>", "<0xA0>", "4", "▁b"], ["n", "4", "b"], [[0], [1], [1], [1], [2]]),
        (["▁n", "<0xE2>", "<0x80>", "<0xAF>", "▁b"], ["n", "b"], [[0], [1], [1], [1], [1]]),
        (["▁a", "<0xE2>", "b"], ["a\udce2b"], [[0], [0], [0]]),
        (["▁aujourd", "'", "hui"], ["aujourd'", "hui"], [[0], [0], [1]]),
        (["▁a", "b▁c", "d"], ["ab", "cd"], [[0], [0, 1], [1]]),
        (["▁自行车", "很", "<0xE5>", "<0xA5>", "<0xBD>", "。"], [*"自行车很好。"], [[0, 1, 2], [3], [4], [4], [4], [5]]),
    ],
    ids=["blanks", "bytes", "a space in bytes", "a space in bytes at an end", "part of a sign", "apostrophe",
         "space inside", "letters of Chinese"],
)  # fmt: skip
def test_a_piece_belongs_to_all_words_that_it_has_a_part_of(pieces, words, expected):
    assert listed(word_indices(pieces, words)) == expected


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


def test_no_token_has_no_word():
    assert word_indices([], []) == []
    assert listed(word_indices(["<eos>"], [])) == [[]]
    assert listed(word_indices(["a"], [])) == [[]]
