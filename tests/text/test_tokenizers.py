import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.errors import InputError
from seq2seq.text.codec import load_codec
from seq2seq.text.corpus import SentencePair, read_lines
from seq2seq.text.splitters import SPLITTERS
from seq2seq.text.tokenizers import SubwordTokenizer, WordTokenizer, train_sentencepiece
from seq2seq.text.vocabulary import SPECIALS, UNKNOWN_ID
from tests.tiny import codecs_of

ENGLISH = ["The little cat sees it .", "I don't know, do you?", "A cat, a dog and a cow!"] * 20
FRENCH = ["Le petit chat le voit.", "Je ne sais pas, et vous ?", "L'homme, l'été et lui !"] * 20


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def subwords(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("subwords") / "joint.model"
    path.write_bytes(
        train_sentencepiece(
            ENGLISH + FRENCH, algorithm=request.param, vocabulary_size=330, lowercase=False
        )
    )
    return SubwordTokenizer(path, language="en", lowercase=False)


@settings(deadline=None, max_examples=150)
@given(text=st.text(st.characters(exclude_characters="\n▁", exclude_categories=["Cs"])))
def test_subword_round_trip_is_exact(subwords, text):
    # SentencePiece ends a text at a NUL
    text = text.replace("\0", "")
    assert subwords.text(subwords.tokens(text)) == text


def test_subword_vocabulary_begins_with_the_specials_and_knows_every_piece(subwords):
    vocabulary = subwords.vocabulary()
    assert vocabulary.tokens[:4] == SPECIALS
    assert UNKNOWN_ID not in vocabulary.ids(subwords.tokens("日本 <pad> <eos> <unk>"))


def test_special_tokens_written_in_a_text_stay_text(subwords):
    ids = subwords.vocabulary().ids(subwords.tokens("<pad><eos><bos><unk>"))
    assert min(ids) >= len(SPECIALS)


ORDINARY = {
    "word": {
        "en": [
            "I don't know, do you?",
            "The well-known (old) man sleeps.",
            "It's five o'clock in the dogs' house!",
        ],
        "fr": [
            "L'homme n'est pas là, est-ce qu'il dort ?",
            "Il dit : « oui » !",
            "Aujourd'hui, j'ai peur.",
        ],
    },
    "basic_english": {
        "en": ["i don't know, do you?", "the old (small) man's hat.", "at the dogs' house!"]
    },
    "moses": {
        "en": ["I don't know: the dogs' hat is $5.50 & Mr. Smith's?", 'He says "yes" (I think)!'],
        "fr": ["L'homme n'est pas là, est-ce qu'il dort ?", "Il dit : « oui » !"],
        "de": ["Zwei junge Männer sind im Freien, d.h. draußen."],
        "cs": ["Dva mladí bílí muži jsou venku, např. v lese."],
    },
    "character": {"fr": ["L'été,  déjà ?", " 日本 "]},
    "whitespace": {"en": ["He do n't know , do &quot; you ?"]},
}
"""Text that each tokenizer restores exactly."""


@pytest.mark.parametrize(
    ("name", "language", "text"),
    [
        (name, language, text)
        for name, languages in ORDINARY.items()
        for language, texts in languages.items()
        for text in texts
    ],
)
def test_tokens_make_ordinary_text_again(name, language, text):
    tokenizer = WordTokenizer(language=language, lowercase=False, name=name)
    assert tokenizer.text(tokenizer.tokens(text)) == text


WORDS = ["a", "Il", "don't", "can't", "dogs'", "it's", "l'", "5", "-", "(", ")", ",", "!", "?"]


@pytest.mark.parametrize("name", SPLITTERS.built_in)
@settings(deadline=None, max_examples=60)
@given(words=st.lists(st.sampled_from(WORDS)))
def test_splitting_the_joined_text_gives_the_same_tokens(name, words):
    tokenizer = WordTokenizer(language="en", lowercase=False, name=name)
    tokens = tokenizer.tokens(" ".join([*words, "."]))
    assert tokenizer.tokens(tokenizer.text(tokens)) == tokens


@pytest.mark.parametrize(
    ("name", "language", "least"),
    [("word", "en", 0.98), ("word", "fr", 0.98), ("word", "de", 0.98)]
    + [("moses", language, 0.98) for language in ("en", "fr", "de")],
)
def test_nearly_every_real_sentence_is_restored_exactly(real_data, name, language, least):
    tokenizer = WordTokenizer(language=language, lowercase=False, name=name)
    lines = [line.strip() for line in read_lines(real_data / f"multi30k/val.{language}.gz")]
    restored = sum(tokenizer.text(tokenizer.tokens(line)) == line for line in lines)
    assert restored / len(lines) >= least


@pytest.mark.parametrize("name", ["character", "whitespace"])
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_characters_are_exact_and_white_space_but_for_its_form(name, text):
    tokenizer = WordTokenizer(language="en", lowercase=False, name=name)
    expected = text if name == "character" else " ".join(text.split())
    assert tokenizer.text(tokenizer.tokens(text)) == expected


def test_moses_escapes_nothing_and_knows_the_abbreviations_of_its_language():
    tokens = WordTokenizer(language="cs", lowercase=False, name="moses").tokens("např. A & 'b'.")
    assert tokens[:3] == ["např.", "A", "&"]
    assert not [token for token in tokens if token.startswith("&") and len(token) > 1]


@pytest.mark.parametrize(
    ("name", "language", "message"),
    [
        ("basic_english", "fr", "basic_english splits English only, not fr: choose word or moses"),
        ("moses", "french", "moses does not know the language french, did you mean fr?"),
    ],
)
def test_a_tokenizer_refuses_a_language_that_it_does_not_know(name, language, message):
    with pytest.raises(InputError, match=re.escape(message)):
        WordTokenizer(language=language, lowercase=False, name=name)


def test_lower_casing_is_a_switch():
    for name in ("word", "moses", "whitespace"):
        lower = WordTokenizer(language="en", lowercase=True, name=name)
        assert lower.tokens("The CAT") == ["the", "cat"]
        kept = WordTokenizer(language="en", lowercase=False, name=name)
        assert kept.tokens("The CAT") == ["The", "CAT"]


def test_a_special_token_written_in_a_text_is_unknown(tmp_path):
    source, _ = trained(tmp_path, tokenizer="whitespace")
    assert source.encode("<pad> <eos> <bos> it") == [UNKNOWN_ID] * 3 + source.encode("it")
    assert source.unknown("<pad> it <eos> Zebra <pad>") == ["<pad>", "<eos>", "Zebra", "<pad>"]


@pytest.mark.parametrize("name", ["unigram", "bpe"])
def test_of_subwords_the_characters_in_bytes_are_unknown(name, tmp_path):
    source, _ = trained(tmp_path, joint=True, tokenizer=name, max_size=330, lowercase=True)
    text = "A cat, 日本 é ½日 it"
    assert source.unknown(text) == ["日", "本", "½", "日"]
    in_bytes = [token for token in source.tokenizer.tokens(text) if re.fullmatch("<0x..>", token)]
    assert len(in_bytes) == len("日本½日".encode())
    assert UNKNOWN_ID not in source.encode(text)
    assert source.unknown("") == []


def test_source_and_target_may_have_different_tokenizers(tmp_path):
    names = {"source_tokenizer": "basic_english", "target_tokenizer": "unigram"}
    _, target = trained(tmp_path, max_size=320, **names)
    assert isinstance(target.tokenizer, SubwordTokenizer)
    assert load_codec(tmp_path, "source").tokenizer.name == "basic_english"
    with pytest.raises(InputError, match="joint=true needs one tokenizer"):
        trained(tmp_path, max_size=320, joint=True, **names)


def trained(folder, **changes):
    return codecs_of(list(map(SentencePair, ENGLISH, FRENCH)), folder, **changes)


def test_rare_words_become_unknown_and_the_vocabulary_is_bounded(tmp_path):
    pairs = [SentencePair("a a a b b c c d", "x")]
    source, _ = codecs_of(pairs, tmp_path, min_frequency=2, max_size=2)
    assert source.vocabulary.tokens == (*SPECIALS, "a", "b")
    assert source.encode("a c d") == [4, UNKNOWN_ID, UNKNOWN_ID]


@pytest.mark.parametrize(
    "changes", [{}, {"joint": True}, {"tokenizer": "bpe", "joint": True, "max_size": 330}]
)
def test_a_joint_vocabulary_is_one_and_the_same(tmp_path, changes):
    source, target = trained(tmp_path, **changes)
    assert (source.vocabulary.tokens == target.vocabulary.tokens) == changes.get("joint", False)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tokenizer": "unigram", "max_size": 320},
        {"tokenizer": "moses"},
        {"tokenizer": "character", "lowercase": True},
        {"tokenizer": "whitespace"},
    ],
)
def test_a_saved_codec_is_the_same_codec(tmp_path, changes):
    codecs = trained(tmp_path, **changes)
    for side, codec in zip(("source", "target"), codecs, strict=True):
        loaded = load_codec(tmp_path, side)
        for text in (*ENGLISH[:3], *FRENCH[:3], "unseen Wörter"):
            assert loaded.encode(text) == codec.encode(text)
            assert loaded.decode(loaded.encode(text)) == codec.decode(codec.encode(text))


def test_a_size_that_does_not_suit_the_text_is_refused(tmp_path):
    message = r"max_size=270 does not suit this text: its characters alone need 285; give more"
    with pytest.raises(InputError, match=message):
        trained(tmp_path, tokenizer="unigram", max_size=270)


def test_a_damaged_codec_is_refused_by_name(tmp_path):
    trained(tmp_path)
    (tmp_path / "source.json").write_text("{}")
    with pytest.raises(InputError, match=r"source\.json is not a vocabulary"):
        load_codec(tmp_path, "source")
    with pytest.raises(InputError, match=r"absent\.json is not a vocabulary"):
        load_codec(tmp_path, "absent")
