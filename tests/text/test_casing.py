from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.text.casing import Casing
from seq2seq.text.codec import CodecSettings, load_codec, train_codecs
from seq2seq.text.corpus import SentencePair

SENTENCES = [
    "Der Mann sieht den Hund und eine Frau.",
    "Die Frau sieht einen Hund.",
    "Ein Hund, den der Mann ruft, kommt nach Rom.",
]
GERMAN = SENTENCES * 20


def test_words_take_their_usual_form_and_sentences_their_capital():
    casing = Casing.learn(GERMAN)
    assert casing.restore("der hund, den die frau sieht.") == "Der Hund, den die Frau sieht."


def test_a_word_known_from_the_start_of_sentences_alone_stays_lower_case_elsewhere():
    assert Casing.learn(["The cat."]).restore("see the cat.") == "See the cat."


def test_where_sentences_begin_in_lower_case_they_go_on_so():
    assert (
        Casing.learn(["a man in Rome.", "two men."]).restore("a man in rome.") == "a man in Rome."
    )


@given(text=st.text())
@example(text="ß a")  # has no capital that is lower-cased to it
def test_lower_casing_takes_back_what_was_restored(text):
    lower = text.lower()
    assert Casing.learn([*SENTENCES, text, f"x {text}"]).restore(lower).lower() == lower


def test_a_codec_restores_case_when_asked_and_still_does_so_when_loaded(tmp_path):
    for name in ("word", "unigram"):
        settings = CodecSettings(
            source_tokenizer=name,
            target_tokenizer=name,
            lowercase=True,
            joint=False,
            min_frequency=1,
            max_size=310,
            restore_case=True,
        )
        _, target = train_codecs(
            [SentencePair(text, text) for text in GERMAN], settings, ("de", "de"), tmp_path
        )
        for codec in (target, load_codec(tmp_path, "target")):
            assert codec.decode(codec.encode(GERMAN[0])) == GERMAN[0]
        source = load_codec(tmp_path, "source")
        assert source.decode(source.encode(GERMAN[0])) == GERMAN[0].lower()
