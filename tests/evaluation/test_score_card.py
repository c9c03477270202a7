from importlib.util import find_spec

import pytest
import sacrebleu
from sacremoses import MosesTokenizer

from seq2seq.data import SentencePair
from seq2seq.decoding.scoring import Evaluation
from seq2seq.evaluation.bleu import bleu_metric, cased_bleu, sentence_bleu_score
from seq2seq.evaluation.metrics import METRICS, moses_tokens, scores_of
from seq2seq.evaluation.score_card import (
    ScoreCard,
    by_source_length,
    by_unknown_words,
    group_table,
    score_card,
    score_table,
)

REFERENCES = ["The cat sat on the mat.", "A dog runs in the park today."]


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


def test_an_interval_is_on_the_card_where_it_is_asked_for():
    said = [*FRENCH, *SAID] * 9
    asked, plain = (
        score_card(said, FRENCH * 18, language="fr", with_interval=each) for each in (True, False)
    )
    low, high = asked.as_dict()["bleu_interval"]
    assert low < asked.scores["bleu"] < high
    (row,) = (line for line in score_table({"greedy": asked}).splitlines() if "95 %" in line)
    assert row.split()[-1] == f"{low:.1f}–{high:.1f}"
    assert "bleu_interval" not in plain.as_dict()
    assert "95 %" not in score_table({"greedy": plain})


@pytest.mark.parametrize("hypotheses", [[], ["one"]])
@pytest.mark.parametrize("score", [cased_bleu, scores_of])
def test_unequal_numbers_are_refused(hypotheses, score):
    with pytest.raises(ValueError, match="for 2 references"):
        score(hypotheses, REFERENCES, "en")
    with pytest.raises(ValueError, match="for 2 references"):
        score_card(hypotheses, REFERENCES, language="en")


FRENCH = ["L'homme n'a pas vu « la » voiture.", "Un porte-clés, bleu et rouge, est là !"]
SAID = ["L'homme n'a pas vu la voiture.", "un porte-clé, bleu et rouge, est là!"]


def test_moses_tokens_are_lower_case_and_split_by_the_rules_of_the_language():
    assert moses_tokens(FRENCH[:1], "fr", split_hyphens=True) == ["l' homme n' a pas vu \" la \" voiture ."]
    said = ["It's well-known, Mr. Ü &c."]
    assert moses_tokens(said, "en", split_hyphens=True) == ["it 's well @-@ known , mr. ü & c ."]
    assert moses_tokens(said, "en", split_hyphens=False) == ["it 's well-known , mr. ü & c ."]
    assert moses_tokens(["Mr. Smith"], "xx", split_hyphens=False), (
        "a language without rules is split all the same"
    )


def test_the_scores_are_those_of_sacrebleu():
    card = score_card(SAID, FRENCH, language="fr")
    assert (
        card.scores["bleu"] == sacrebleu.corpus_bleu(SAID, [FRENCH]).score == cased_bleu(SAID, FRENCH, "fr")
    )
    assert card.scores["bleu_lowercase"] == sacrebleu.corpus_bleu(SAID, [FRENCH], lowercase=True).score
    assert card.scores["chrf"] == sacrebleu.corpus_chrf(SAID, [FRENCH]).score
    assert card.scores["ter"] == sacrebleu.corpus_ter(SAID, [FRENCH]).score
    tokenize = MosesTokenizer("fr").tokenize
    for name, split_hyphens in (("bleu_moses", True), ("bleu_moses_whole", False)):
        split = [
            [
                tokenize(
                    text.lower().replace("« ", '"').replace(" »", '"').replace(" !", "!"),
                    aggressive_dash_splits=split_hyphens,
                    escape=False,
                    return_str=True,
                )
                for text in texts
            ]
            for texts in (SAID, FRENCH)
        ]
        expected = sacrebleu.corpus_bleu(split[0], [split[1]], tokenize="none", force=True).score
        assert card.scores[name] == pytest.approx(expected)
    own = {"repetition", "omission", "exact_match"}
    scored = [name for name, metric in METRICS.items() if metric.score is not None]
    assert len({card.scores[name] for name in scored if name not in own}) == len(scored) - len(own)


def test_words_said_again_and_dropped_are_what_one_counts_by_hand():
    # of 4 + 2 tokens one "a" too often; "b" and "z" are lacking of 3 + 3
    scores = scores_of(["a a b c", "x y"], ["a b b", "x y z"], "en")
    assert scores["repetition"] == pytest.approx(100 / 6)
    assert scores["omission"] == pytest.approx(100 * 2 / 6)
    # what the reference says as often is not said again, nor is another word once
    assert scores_of(["a a d"], ["a a b"], "en")["repetition"] == 0


def test_exact_matches_are_what_one_counts_by_hand():
    wanted = ["The cat sat down.", "A dog ran.", "It rains!"]
    scores = scores_of(["The cat sat.", "a dog ran.", "It rains now!"], wanted, "en")
    assert scores["exact_match"] == 0
    assert scores_of([wanted[0], "", "It rains! "], wanted, "en")["exact_match"] == pytest.approx(100 / 3)
    chinese = scores_of(FOUND, WANTED, "zh")
    assert "ter" not in chinese, "it is of the words between spaces"


WANTED = ["我们今天去公园散步。", "他在图书馆里看书。"]
FOUND = ["我们今天去花园散步。", "他在图书馆里看书。"]


@pytest.mark.parametrize("code", ["zh", "zh-TW", "zh_Hant"])
def test_bleu_counts_the_tokens_that_sacrebleu_chooses_for_the_language(code):
    expected = sacrebleu.corpus_bleu(FOUND, [WANTED], tokenize="zh").score
    assert expected > 50
    card = score_card(FOUND, WANTED, language=code)
    assert card.scores["bleu"] == cased_bleu(FOUND, WANTED, code) == pytest.approx(expected)
    assert "tok:zh" in card.bleu_signature
    assert "bleu_moses" not in card.scores, "Moses splits at spaces"
    assert score_table({"greedy": card}).count("Moses") == 0
    assert sentence_bleu_score(FOUND[0], WANTED[0], code) > 50
    _, row = group_table("words", by_source_length(["a", "b"]), FOUND, WANTED, code).splitlines()
    assert row.split() == ["1-5", "2", f"{expected:.2f}", "1.00"]


@pytest.mark.parametrize(("language", "package"), [("ja", "MeCab"), ("ko", "mecab_ko")])
def test_words_that_need_a_missing_package_are_counted_as_characters_and_a_line_says_so(
    language, package, capsys
):
    scores = {cased_bleu(FOUND, WANTED, language) for _ in range(2)}
    signature = score_card(FOUND, WANTED, language=language).bleu_signature
    if find_spec(package) is not None:
        assert f"tok:{language}-mecab" in signature
        return
    assert scores == {sacrebleu.corpus_bleu(FOUND, [WANTED], tokenize="char").score}
    assert "tok:char" in signature
    assert capsys.readouterr().err.splitlines() == [
        f"WARNING: BLEU of {language} counts characters: sacrebleu[{language}] is missing"
    ]


def test_languages_without_spaces_are_never_scored_as_one_word():
    assert bleu_metric("th").tokenizer_signature == "char"
    assert {bleu_metric(code).tokenizer_signature for code in ("en", "de", "fr", "xx")} == {"13a"}


def test_buckets_hold_each_sentence_once_and_score_it_with_its_like():
    sources = ["a", "a b c d e", "a b c d e f", "a " * 12]
    said = ["the cat sat on it", "no", "the cat sat on it", "the cat sat"]
    wanted = ["the cat sat on it", "yes", "the cat sat on it", "the cat sat on the mat"]
    groups = by_source_length(sources)
    assert groups == {"1-5": [0, 1], "6-10": [2], "11-15": [3]}
    assert by_unknown_words([0, 7, 1, 3]) == {"0": [0], "1": [2], "3 or more": [1, 3]}
    head, *rows = group_table("source words", groups, said, wanted, "en").splitlines()
    assert head.split() == ["source", "words", "sentences", "BLEU", "length"]
    assert rows[0].split() == ["1-5", "2", f"{cased_bleu(said[:2], wanted[:2], 'en'):.2f}", "1.00"]
    assert [row.split()[-1] for row in rows] == ["1.00", "1.00", "0.50"]


def test_tables_of_several_languages_are_means_of_each_without_the_tag():
    pairs = [
        SentencePair("xxzh We walk today.", WANTED[0], languages="en-zh"),
        SentencePair("xxzh He reads a book", WANTED[1], languages="en-zh"),
        SentencePair("xxfr The man did not see it", FRENCH[0], languages="en-fr"),
        SentencePair("xxfr A key ring is in there", FRENCH[1], languages="en-fr"),
        SentencePair("xxen 我们今天去公园和湖边散步。", "We walk today in the park.", languages="zh-en"),
    ]
    said = [*FOUND, *SAID, "We walk today in the park and then"]
    card = ScoreCard(said, {"bleu": 1.0}, "")
    table = f"{Evaluation(pairs, {'greedy': card}, [0, 1, 0, 0, 0], 'mul')}"
    rows = [line.split()[-4:] for line in table.splitlines() if line]
    chinese, french = (
        sacrebleu.corpus_bleu(found, [wanted], tokenize=tokenize).score
        for found, wanted, tokenize in ((FOUND, WANTED, "zh"), (SAID, FRENCH, "13a"))
    )
    english = sacrebleu.corpus_bleu(said[4:], [[pairs[4].target]]).score
    assert [row for row in rows if row[0] in ("1-5", "6-10", "11-15")] == [
        ["1-5", "2", f"{chinese:.2f}", "1.00"],
        ["6-10", "2", f"{french:.2f}", f"{13 / 16:.2f}"],
        ["11-15", "1", f"{english:.2f}", f"{8 / 6:.2f}"],
    ]
    first, last = (sacrebleu.corpus_bleu([FOUND[n]], [[WANTED[n]]], tokenize="zh").score for n in (0, 1))
    assert ["0", "4", f"{(first + french + english) / 3:.2f}", f"{(1 + 13 / 16 + 8 / 6) / 3:.2f}"] in rows
    assert ["1", "1", f"{last:.2f}", "1.00"] in rows


def test_further_references_help_and_blank_ones_are_none():
    said, wanted = ["the cat", "a red dog runs home"], ["the cat is on the mat", "the red dog runs"]
    further = [["", "a red dog runs home now"]]
    alone = cased_bleu(said, wanted, "en")
    both = cased_bleu(said, wanted, "en", further=further)
    assert both > alone
    assert cased_bleu(said, wanted, "en", further=[["", ""]]) == alone
    expected = sacrebleu.corpus_bleu(said, [wanted, [None, further[0][1]]]).score
    assert both == expected
