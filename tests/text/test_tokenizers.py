import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.errors import InputError
from seq2seq.text.codec import CodecSettings, load_codec, train_codecs
from seq2seq.text.tokenizers import SubwordTokenizer, WordTokenizer, train_sentencepiece
from seq2seq.text.vocabulary import SPECIALS, UNKNOWN_ID

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


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I don't know, do you?"),
        ("en", "The well-known (old) man sleeps."),
        ("fr", "L'homme n'est pas là, est-ce qu'il dort ?"),
        ("fr", "Il dit : « oui » !"),
        ("fr", "Aujourd'hui, j'ai peur."),
    ],
)
def test_word_tokens_make_ordinary_text_again(language, text):
    tokenizer = WordTokenizer(language=language, lowercase=False)
    assert tokenizer.text(tokenizer.tokens(text)) == text


def test_lower_casing_is_a_switch():
    assert WordTokenizer(language="en", lowercase=True).tokens("The CAT") == ["the", "cat"]
    assert WordTokenizer(language="en", lowercase=False).tokens("The CAT") == ["The", "CAT"]


def settings_of(**changes):
    base = {
        "tokenizer": "word",
        "lowercase": False,
        "joint": False,
        "min_frequency": 1,
        "max_size": None,
    }
    return CodecSettings(**{**base, **changes})


def trained(folder, **changes):
    return train_codecs(
        settings_of(**changes),
        sources=ENGLISH,
        targets=FRENCH,
        languages=("en", "fr"),
        folder=folder,
    )


def test_rare_words_become_unknown_and_the_vocabulary_is_bounded(tmp_path):
    source, _ = train_codecs(
        settings_of(min_frequency=2, max_size=2),
        sources=["a a a b b c c d"],
        targets=["x"],
        languages=("en", "fr"),
        folder=tmp_path,
    )
    assert source.vocabulary.tokens == (*SPECIALS, "a", "b")
    assert source.encode("a c d") == [4, UNKNOWN_ID, UNKNOWN_ID]


@pytest.mark.parametrize(
    "changes", [{}, {"joint": True}, {"tokenizer": "bpe", "joint": True, "max_size": 330}]
)
def test_a_joint_vocabulary_is_one_and_the_same(tmp_path, changes):
    source, target = trained(tmp_path, **changes)
    assert (source.vocabulary.tokens == target.vocabulary.tokens) == changes.get("joint", False)


@pytest.mark.parametrize("changes", [{}, {"tokenizer": "unigram", "max_size": 320}])
def test_a_saved_codec_is_the_same_codec(tmp_path, changes):
    codecs = trained(tmp_path, **changes)
    for side, codec in zip(("source", "target"), codecs, strict=True):
        loaded = load_codec(tmp_path, side)
        for text in (*ENGLISH[:3], *FRENCH[:3], "unseen Wörter"):
            assert loaded.encode(text) == codec.encode(text)
            assert loaded.decode(loaded.encode(text)) == codec.decode(codec.encode(text))


def test_a_size_that_does_not_suit_the_text_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"data\.tokenizer\.max_size=100 does not suit"):
        trained(tmp_path, tokenizer="unigram", max_size=100)


def test_a_damaged_codec_is_refused_by_name(tmp_path):
    trained(tmp_path)
    (tmp_path / "source.json").write_text("{}")
    with pytest.raises(InputError, match=r"source\.json is not a vocabulary"):
        load_codec(tmp_path, "source")
    with pytest.raises(InputError, match=r"absent\.json is not a vocabulary"):
        load_codec(tmp_path, "absent")
