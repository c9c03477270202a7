import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seq2seq.data.text import SentencePair
from seq2seq.data.tokenizers import Tokenizer, WordTokenizer
from seq2seq.data.words import lowered
from tests.small import tokenizers_of

SENTENCES = [
    "Der Mann sieht den Hund und eine Frau.",
    "Die Frau sieht einen Hund.",
    "Ein Hund, den der Mann ruft, kommt nach Rom.",
]
GERMAN = SENTENCES * 20


def casing_of(sentences):
    """A tokenizer that has learned how words are written."""
    tokenizer = WordTokenizer(language="de", lowercase=True, truecase=True)
    tokenizer.learn_case(sentences)
    tokenizer.join = " ".join
    return tokenizer


def restored(tokenizer, text):
    return tokenizer.text([text])


def test_words_take_their_usual_form_and_sentences_their_capital():
    casing = casing_of(GERMAN)
    assert restored(casing, "der hund, den die frau sieht.") == "Der Hund, den die Frau sieht."


def test_a_word_known_from_the_start_of_sentences_alone_stays_lower_case_elsewhere():
    assert restored(casing_of(["The cat."]), "see the cat.") == "See the cat."


def test_where_sentences_begin_in_lower_case_they_go_on_so():
    assert restored(casing_of(["a man in Rome.", "two men."]), "a man in rome.") == "a man in Rome."


@pytest.mark.parametrize("start", ['"', "„", "« ", "»", "(", "¿", "- ", "— « "])
def test_the_capital_of_a_sentence_comes_after_opening_marks(start):
    assert restored(casing_of(GERMAN), f"{start}komm, hund.") == f"{start}Komm, Hund."


@pytest.mark.parametrize("start", ["3 ", "'", "… ", "-"])
def test_what_may_be_within_a_sentence_is_not_followed_by_a_capital(start):
    assert restored(casing_of(GERMAN), f"{start}komm.") == f"{start}komm."


@settings(deadline=None)
@given(text=st.text())
@example(text="ß a")  # has no capital that is lower-cased to it
@example(text="İ i İ")
def test_lower_casing_takes_back_what_was_restored(text):
    lower = lowered(text, "de").replace("\n", " ")
    assert lowered(restored(casing_of([*SENTENCES, text, f"x {text}"]), lower), "de") == lower


def test_a_codec_restores_case_when_asked_and_still_does_so_when_loaded(tmp_path):
    for name in ("word", "unigram"):
        pairs = [SentencePair(text, text) for text in GERMAN]
        size = {"vocab_size": 310} if name == "unigram" else {}
        _, target = tokenizers_of(pairs, ("de", "de"), name, lowercase=True, truecase=True, **size)
        target.save(tmp_path, "target")
        for each in (target, Tokenizer.load(tmp_path, "target")):
            assert each.decode(each.encode(GERMAN[0])) == GERMAN[0]
