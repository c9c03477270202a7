import math

import pytest

from seq2seq.evaluation.sentence_bleu import sentence_bleu


def bleu(hypothesis, reference):
    return sentence_bleu(hypothesis.split(), reference.split(), max_order=2)


def test_the_reference_itself_scores_one():
    assert bleu("je suis chez moi .", "je suis chez moi .") == 1


@pytest.mark.parametrize("hypothesis", ["", "nothing like it", "suis je"])
def test_no_common_pair_of_words_scores_zero(hypothesis):
    assert bleu(hypothesis, "je suis chez moi .") == 0


def test_the_formula_is_that_of_the_textbook():
    # 4 of 5 words and 3 of 4 pairs match; no brevity penalty
    assert bleu("a b c d x", "a b c d e") == pytest.approx(0.8**0.5 * 0.75**0.25)
    # all match, but three words are missing
    assert bleu("a b", "a b c d e") == pytest.approx(math.exp(1 - 5 / 2))


def test_a_repeated_word_counts_as_often_as_the_reference_has_it():
    assert bleu("a a b", "a a c") == pytest.approx((2 / 3) ** 0.5 * 0.5**0.25)
    assert bleu("a b a b a b", "a b c d e f") == pytest.approx((2 / 6) ** 0.5 * (1 / 5) ** 0.25)


def test_a_single_word_is_scored_by_words_alone():
    assert bleu("va", "va") == 1
