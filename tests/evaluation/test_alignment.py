"""Words get the weights of their tokens, and their links."""

import gzip
import re

import numpy as np
import pytest

from joined_words import word_indices
from seq2seq.data.text import SentencePair
from seq2seq.evaluation.alignment import argmax_links, merge_words
from tests.small import tokenizers_of

PIECES = ["▁The", "▁cat", "s", "▁sl", "ee", "p", ".", "<eos>"]


def random_weights(rows, columns, seed=0):
    weights = np.random.default_rng(seed).random((rows, columns))
    return weights / weights.sum(axis=1, keepdims=True)


def places(words):
    """Return the indices of the words of tokens that have one each."""
    return [range(int(word), int(word) + 1) for word in words]


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


def test_all_words_of_a_token_have_its_link():
    source, target = (
        word_indices(["a", "b"], ["a", "b"]),
        word_indices(["▁qu'il", "▁vient"], ["qu'", "il", "vient"]),
    )
    links = argmax_links(merge_words([[0.1, 0.9], [0.7, 0.3]], source, target))
    assert links == {(1, 0), (1, 1), (0, 2)}


def test_a_word_without_a_token_has_no_link():
    words = ["he", "said", '"', "Yes", '"', "now"]
    tokens = word_indices(["he", "said", "yes", "now"], words)
    assert argmax_links(merge_words(np.eye(4), tokens, tokens)) == {(0, 0), (1, 1), (3, 3), (5, 5)}


def test_a_source_token_of_several_words_shares_its_weight():
    merged = merge_words([[0.2, 0.6, 0.2]], [range(1), range(1, 4), range(3, 4)], [range(2)])
    np.testing.assert_allclose(merged, [[0.2, 0.2, 0.2, 0.4]] * 2)


@pytest.mark.parametrize("seed", range(5))
def test_merging_keeps_the_mass_of_each_row(seed):
    source = word_indices(PIECES, ["The", "cats", "sleep."])
    target = word_indices(["▁Les", "▁ch", "ats", "▁dorm", "ent", "."], ["Les", "chats", "dorment."])
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
