"""The usual case of words and the capitals of sentences, learned and restored."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from joined_words import Casing, lowered

SENTENCES = [
    "Der Mann sieht den Hund und eine Frau.",
    "Die Frau sieht einen Hund.",
    "Ein Hund, den der Mann ruft, kommt nach Rom.",
]
GERMAN = SENTENCES * 20


def casing_of(sentences, language="de"):
    return Casing.learned(sentences, language)


def restored(casing, text, language="de"):
    return casing.restored(text, language)


def test_words_take_their_usual_form_and_sentences_their_capital():
    casing = casing_of(GERMAN)
    assert restored(casing, "der hund, den die frau sieht.") == "Der Hund, den die Frau sieht."


def test_a_word_known_from_the_start_of_sentences_alone_stays_lower_case_elsewhere():
    assert restored(casing_of(["The cat."]), "see the cat.") == "See the cat."


def test_where_sentences_begin_in_lower_case_they_go_on_so():
    assert restored(casing_of(["a man in Rome.", "two men."]), "a man in rome.") == "a man in Rome."


def test_a_word_that_has_a_capital_stays_as_it_is():
    casing = casing_of([*GERMAN, "Der Mann fragt: Ist es einer?"] * 3)
    assert restored(casing, "iPhone, McDonald.") == "iPhone, McDonald."
    assert restored(casing, "hund, McDonald.") == "Hund, McDonald."


@pytest.mark.parametrize("start", ['"', "„", "« ", "»", "(", "¿", "- ", "— « "])
def test_the_capital_of_a_sentence_comes_after_opening_marks(start):
    assert restored(casing_of(GERMAN), f"{start}komm, hund.") == f"{start}Komm, Hund."


@pytest.mark.parametrize("start", ["3 ", "'", "… ", "-"])
def test_what_may_be_within_a_sentence_is_not_followed_by_a_capital(start):
    assert restored(casing_of(GERMAN), f"{start}komm.") == f"{start}komm."


WITHIN = {
    "marks": ("en", "the dog is it or cat", "It is the dog. Is it! Is it? The cat: the dog; the cat, it is.",
              "It is! The dog. Is it? The cat: the dog; is it."),
    "quotation marks": ("en", "the dog is it or cat", 'It is the dog. "It is the cat!" The dog is "the". „The.“ It is.',
                        'The dog. "The cat is it!" Is it? the "dog". „Is it the cat.“ It, the "dog" is.'),
    "a quotation within": ("en", "and he said stop to me", 'He said "stop!" and he said. "Stop." to me. He said "stop!" to me. And he.',
                           'And he said "stop!" to me. To "stop." he said.'),
    "brackets": ("en", "see the dog or cat end", "The dog. (The cat.) The dog. [See the end (the dog).] The end.",
                 "The dog. (See the cat.) The end (the dog). [The cat.] See: (the dog), the cat."),
    "dots": ("en", "and he was or did", "He ... and he. He did... and he. He … and was. Was he. And. Was.",
             "And he ... was he. Was he... he did. He … and he. Was."),
    "dots at an end": ("en", "and he was or did", "And he ... He was... Was he... He did. And he.", "He ... And was... He did. Was."),
    "numbers": ("de", "am er kam und oder zum mal", "Er kam am 3. und am 7. oder so. Er kam. Und er kam. Zum 2. mal er. Und.",
                "Am 5. kam er. Er kam am 24. und 3. oder so. Und er."),
    "a list": ("en", "then click it and open", "1. Click it, then open. 2. Open it. 3. Then open it.", "1. Then click. 2. It, 4. Open it."),
    "abbreviations": ("de", "mit ihr ging er kam oder", "Er kam z. B. mit ihr, d. h. er kam. Er kam bzw. ging. Mit ihr. Kam er. Ging er. Oder. Er. Mit.",
                      "Er ging z. B. mit ihr. Kam er, d. h. mit ihr bzw. er? kam. Oder."),
    "French": ("fr", "il est ici le chat là ou", "Il est ici. « Il est là ! » Il est : le chat est là ! Ici. « Est-il ici. » Le chat.",
               "Le chat est ici. « Est-il là ! » Il est là : il est ici ! Il. « Il est. » Ici."),
    "Spanish": ("es", "o un gato es", "Es un gato. ¿Es un gato? ¡Un gato! Un gato, ¿es un gato? Es. ¡Es! ¿Es?",
                "Un gato. ¿Es un gato? ¡Es! Un gato, ¿un gato? Es un gato."),
    "German nouns": ("de", "er sieht Hunde Katzen", "Er sieht: Hunde. Er: Katzen. Er sieht: Hunde: er, Hunde; Katzen. Er.",
                     "Er sieht: er, Hunde; Katzen: Hunde. Er: Hunde. Sieht."),
    "names": ("en", "or the man in Rome is", "The man is. Is the man. In the end. Rome is. The man.", "Is the man in Rome. Rome is. In Rome."),
    "Turkish": ("tr", "ve iki ısı bu", "Bu ısı. İki ısı. Isı iki. İki.", "Isı ve iki. Isı. İki ısı ve. Ve."),
    "Greek": ("el", "ή το σπίτι είναι εδώ", "Το σπίτι; Είναι εδώ; Εδώ; Το σπίτι; Το.", "Είναι; Το σπίτι; Εδώ είναι."),
    "Armenian": ("hy", "և նա այստեղ է", "Նա է։ Այստեղ է։ Նա։ Է նա։ Նա։", "Այստեղ է նա։ Նա է։"),
    "lower case": ("en", "it is the dog", "it is the dog. is it the dog? the dog is it. it is.", "it is. the dog? is it."),
    "Chinese": ("zh", "用 abc 打开", "打开 Writer。 Writer 打开。 单击 Calc： 打开 abc。 abc！", "打开 Writer。 abc。 Calc： 打开。"),
    "Japanese": ("ja", "を abc を", "Writer を開く。 クリック！ Calc を。 abc。", "Writer を。 Calc。 abc。"),
}  # fmt: skip
"""Language, words within a sentence, text with sentences within lines, and what is to be written of the same words."""


@pytest.mark.parametrize("name", WITHIN)
def test_a_sentence_within_a_line_has_the_capital_that_its_mark_has_in_the_text(name):
    language, words, text, written = WITHIN[name]
    casing = casing_of([f"1 {words} {words}", text] * 4, language)
    assert restored(casing, lowered(written, language), language) == written


MARKS = [
    ("The dog. The dog! The dog: the cat; the cat, the end! The. The", {".": [], "!": []}),
    ('The "dog." the cat. The dog. „The.“ The cat', {".": [], ".“": []}),
    ("The d. h. the 3. end the 4. the. The. The. The end. The. Cat. The", {".": ["0", "d", "h"]}),
    ("The etc. the e.g. The etc. the e.g. the etc. The. The. Cat. The", {".": ["etc"]}),  # two of three, one of two
    ("the dog. the cat. the", {}), ("The. Dog. Fox", {}), ("打开。 打开！ The。", {}), ("", {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "marks"), MARKS)
def test_what_is_learned_of_marks(text, marks):
    learned = casing_of(["A the cat the end.", text] * 3).sentence_marks
    assert {mark: sorted(words) for mark, words in learned.items()} == marks


@pytest.mark.parametrize(("text", "capital"), [
    ("a the. The. The", False), ("a the. The. The. The", True),  # two and three words
    ("a the. The. The. the cat. the", False), ("a the. The. The. The cat. the dog. the", True),  # half, and more
])  # fmt: skip
def test_more_than_half_of_three_words_at_least_show_that_a_sentence_begins(text, capital):
    found = restored(casing_of(["a the the the the", text]), "the fox. the fox")
    assert found == f"the fox. {'T' if capital else 't'}he fox"


def test_a_word_that_mostly_begins_sentences_within_lines_is_in_lower_case_elsewhere():
    learned = casing_of(["Now run it. Click it. Click it now. Click it. Run, click. Run it."])
    assert restored(learned, "run it, click it. click it.") == "Run it, click it. Click it."


@settings(deadline=None, max_examples=50)
@given(text=st.text())
@example(text="İ. i! ß. ß ß. i")
@example(text="ß a")  # has no capital that is lower-cased to it
@example(text="İ i İ")
def test_lower_casing_takes_back_what_was_restored(text):
    lower = re.sub(r"[\r\n]", " ", lowered(text, "de"))
    assert lowered(restored(casing_of([*SENTENCES, text, f"x {text}"]), lower), "de") == lower
