import pytest

from seq2seq.evaluation.score_card import score_card

REFERENCES = ["The cat sat on the mat.", "A dog runs in the park today."]


def test_a_perfect_translation_scores_one_hundred():
    card = score_card(REFERENCES, REFERENCES)
    assert card.bleu == pytest.approx(100)
    assert card.chrf == pytest.approx(100)


def test_case_counts_in_one_score_and_not_in_the_other():
    card = score_card([text.upper() for text in REFERENCES], REFERENCES)
    assert card.bleu < 50
    assert card.bleu_lowercase == pytest.approx(100)


def test_the_signature_says_how_bleu_was_computed():
    signature = score_card(REFERENCES, REFERENCES).bleu_signature
    assert "case:mixed" in signature
    assert "tok:13a" in signature


def test_every_score_is_in_the_table():
    card = score_card([REFERENCES[0], REFERENCES[0]], REFERENCES)
    for value in (card.bleu, card.bleu_lowercase, card.chrf):
        assert f"{value:.2f}" in card.table()


@pytest.mark.parametrize("hypotheses", [[], ["one"]])
def test_unequal_numbers_are_refused(hypotheses):
    with pytest.raises(ValueError, match="for 2 references"):
        score_card(hypotheses, REFERENCES)
