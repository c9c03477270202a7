import pytest
import sacrebleu
from sacremoses import MosesTokenizer

from seq2seq.evaluation.buckets import bucket_table, by_source_length, by_unknown_words
from seq2seq.evaluation.score_card import score_card, score_table
from seq2seq.metrics import cased_bleu, chrf, moses_tokens

REFERENCES = ["The cat sat on the mat.", "A dog runs in the park today."]


def test_a_perfect_translation_scores_one_hundred():
    card = score_card(REFERENCES, REFERENCES, language="en")
    assert card.scores["bleu"] == pytest.approx(100)
    assert card.scores["chrf"] == pytest.approx(100)


def test_case_counts_in_one_score_and_not_in_the_other():
    card = score_card([text.upper() for text in REFERENCES], REFERENCES, language="en")
    assert card.scores["bleu"] < 50
    assert card.scores["bleu_lowercase"] == pytest.approx(100)


def test_the_signature_says_how_bleu_was_computed():
    signature = score_card(REFERENCES, REFERENCES, language="en").bleu_signature
    assert "case:mixed" in signature
    assert "tok:13a" in signature


def test_every_score_of_every_search_is_in_the_table():
    cards = {
        "greedy": score_card([REFERENCES[0], REFERENCES[0]], REFERENCES, language="en"),
        "beam 5": score_card(REFERENCES, REFERENCES, language="en"),
    }
    table = score_table(cards)
    for card in cards.values():
        for value in card.scores.values():
            assert f"{value:.2f}" in table
    assert all(name in table for name in (*cards, "tok:13a", "2 sentences"))


@pytest.mark.parametrize("hypotheses", [[], ["one"]])
@pytest.mark.parametrize("score", [cased_bleu, chrf])
def test_unequal_numbers_are_refused(hypotheses, score):
    with pytest.raises(ValueError, match="for 2 references"):
        score(hypotheses, REFERENCES)
    with pytest.raises(ValueError, match="for 2 references"):
        score_card(hypotheses, REFERENCES, language="en")


FRENCH = ["L'homme n'a pas vu « la » voiture.", "Un porte-clés, bleu et rouge, est là !"]
SAID = ["L'homme n'a pas vu la voiture.", "un porte-clé, bleu et rouge, est là!"]


def test_moses_tokens_are_lower_case_and_split_by_the_rules_of_the_language():
    assert moses_tokens(FRENCH[:1], "fr") == ["l' homme n' a pas vu \" la \" voiture ."]
    assert moses_tokens(["It's well-known, Mr. Ü &c."], "en") == [
        "it 's well @-@ known , mr. ü & c ."
    ]
    assert moses_tokens(["Mr. Smith"], "xx"), "a language without rules is split all the same"


def test_the_scores_are_those_of_sacrebleu():
    card = score_card(SAID, FRENCH, language="fr")
    assert (
        card.scores["bleu"]
        == sacrebleu.corpus_bleu(SAID, [FRENCH]).score
        == cased_bleu(SAID, FRENCH)
    )
    assert (
        card.scores["bleu_lowercase"] == sacrebleu.corpus_bleu(SAID, [FRENCH], lowercase=True).score
    )
    assert card.scores["chrf"] == sacrebleu.corpus_chrf(SAID, [FRENCH]).score == chrf(SAID, FRENCH)
    tokenise = MosesTokenizer("fr").tokenize
    split = [
        [
            tokenise(
                text.lower().replace("« ", '"').replace(" »", '"').replace(" !", "!"),
                aggressive_dash_splits=True,
                escape=False,
                return_str=True,
            )
            for text in texts
        ]
        for texts in (SAID, FRENCH)
    ]
    expected = sacrebleu.corpus_bleu(split[0], [split[1]], tokenize="none", force=True).score
    assert card.scores["bleu_moses"] == pytest.approx(expected)
    assert len({card.scores["bleu"], card.scores["bleu_lowercase"], card.scores["bleu_moses"]}) == 3


def test_buckets_hold_each_sentence_once_and_score_it_with_its_like():
    sources = ["a", "a b c d e", "a b c d e f", "a " * 12]
    said = ["the cat sat on it", "no", "the cat sat on it", "the cat sat"]
    wanted = ["the cat sat on it", "yes", "the cat sat on it", "the cat sat on the mat"]
    buckets = by_source_length(sources, said, wanted)
    assert [(b.name, b.num_sentences) for b in buckets] == [("1-5", 2), ("6-10", 1), ("11-15", 1)]
    assert buckets[0].bleu == cased_bleu(said[:2], wanted[:2])
    assert [b.length_ratio for b in buckets] == [1, 1, 0.5]
    unknown = by_unknown_words([0, 7, 1, 3], said, wanted)
    assert [(b.name, b.num_sentences) for b in unknown] == [("0", 1), ("1", 1), ("3 or more", 2)]
    table = bucket_table("unknown words", unknown)
    assert table.splitlines()[0].split() == ["unknown", "words", "sentences", "BLEU", "length"]
    assert len(table.splitlines()) == 4
