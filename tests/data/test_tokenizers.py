import json
import re
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joined_words import clean
from seq2seq.common.errors import InputError
from seq2seq.data import PairsCorpus
from seq2seq.data.text import SentencePair, read_lines
from seq2seq.data.tokenizers import (
    CharacterTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    WhitespaceTokenizer,
    WordTokenizer,
    save_proved,
)
from seq2seq.data.vocabulary import SPECIALS, UNKNOWN_ID
from tests.small import KINDS, tokenizers_of

ENGLISH = ["The little cat sees it .", "I don't know, do you?", "A cat, a dog and a cow!"] * 20
FRENCH = ["Le petit chat le voit.", "Je ne sais pas, et vous ?", "L'homme, l'été et lui !"] * 20


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def subwords(request):
    tokenizer = SentencePieceTokenizer(language="en", model_type=request.param, vocab_size=330)
    tokenizer.fit(ENGLISH + FRENCH)
    return tokenizer


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
@pytest.mark.parametrize("other", ["αβγδ εζηθ " * 400, "αβγδ εζηθ ▅", "ΑΒΓΔ ΕΖΗΘ " * 260])
def test_subwords_are_learned_from_every_sentence(model_type, other):
    tokenizer = SentencePieceTokenizer(
        language="el", model_type=model_type, vocab_size=420, case="lower" if other[0] == "Α" else "keep"
    )
    tokenizer.fit([*ENGLISH * 3, *[other.strip()] * 20])
    assert not tokenizer.unknown("αβγδ εζηθ")
    assert tokenizer.join(tokenizer.tokens("α ▅ β")) == "α ▅ β"


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
@pytest.mark.parametrize(("size", "has_room"), [(1000, True), (350, False)])
def test_rare_characters_have_pieces_where_there_is_room_and_are_named_where_not(
    model_type, size, has_room, capsys
):
    rare = "Enter 3 % of ½ € : « \u200d »"
    tokenizer = SentencePieceTokenizer(language="fr", model_type=model_type, vocab_size=size)
    tokenizer.fit([*ENGLISH * 50, *FRENCH * 50, rare])
    lost, said = tokenizer.unknown(rare), capsys.readouterr().err
    assert has_room == (not lost) == (not said)
    assert all((each if each.isprintable() else "U+200D") in said for each in lost)


@settings(deadline=None, max_examples=60)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_subword_round_trip_is_exact_for_clean_text(subwords, text):
    assert subwords.join(subwords.tokens(text)) == clean(text.replace("▁", " "))


def test_subword_vocabulary_begins_with_the_specials_and_knows_every_piece(subwords):
    assert tuple(subwords.vocabulary[:4]) == SPECIALS
    assert UNKNOWN_ID not in subwords.ids(subwords.tokens("日本 <pad> <eos> <unk>"))


def test_special_tokens_written_in_a_text_stay_text(subwords):
    ids = subwords.ids(subwords.tokens("<pad><eos><bos><unk>"))
    assert min(ids) >= len(SPECIALS)


ORDINARY = {
    "moses": {
        "en": ["I don't know: the dogs' hat is $5.50 & Mr. Smith's?", 'He says "yes" (I think)!'],
        "fr": ["L'homme n'est pas là, est-ce qu'il dort ?", "Il dit : « oui » !"],
        "de": ["Zwei junge Männer sind im Freien, d.h. draußen."],
        "cs": ["Dva mladí bílí muži jsou venku, např. v lese."],
    },
    "character": {"fr": ["L'été, déjà ?", "日本"]},
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
    tokenizer = KINDS[name](language=language)
    assert tokenizer.join(tokenizer.tokens(text)) == text


WORDS = ["a", "Il", "don't", "can't", "dogs'", "it's", "l'", "5", "-", "(", ")", ",", "!", "?"]


@pytest.mark.parametrize("name", ["word", "basic_english", "moses", "character", "whitespace"])
@settings(deadline=None, max_examples=40)
@given(words=st.lists(st.sampled_from(WORDS)))
def test_splitting_the_joined_text_gives_the_same_tokens(name, words):
    tokenizer = KINDS[name](language="en")
    tokens = tokenizer.tokens(" ".join([*words, "."]))
    assert tokenizer.tokens(tokenizer.join(tokens)) == tokens


@pytest.mark.parametrize(
    ("name", "language", "least"),
    [("word", "en", 1.0), ("word", "fr", 1.0), ("word", "de", 1.0),
     ("moses", "en", 0.9975), ("moses", "de", 0.9965), ("moses", "fr", 0.9985)],
)  # fmt: skip
def test_nearly_every_real_sentence_is_restored_exactly(real_data, name, language, least):
    tokenizer = KINDS[name](language=language)
    lines = [clean(line) for line in read_lines(real_data / f"multi30k/val.{language}.gz")]
    restored = sum(tokenizer.join(tokenizer.tokens(line)) == line for line in lines)
    assert restored / len(lines) >= least


@pytest.mark.parametrize("name", ["character", "whitespace"])
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_characters_and_white_space_of_clean_text_are_exact(name, text):
    tokenizer = KINDS[name](language="en")
    assert tokenizer.join(tokenizer.tokens(text)) == clean(text)


def test_moses_escapes_nothing_and_knows_the_abbreviations_of_its_language():
    tokens = KINDS["moses"](language="cs").tokens("např. A & 'b'.")
    assert tokens[:3] == ["např.", "A", "&"]
    assert not [token for token in tokens if token.startswith("&") and len(token) > 1]


@pytest.mark.parametrize(
    ("name", "language", "message"),
    [("basic_english", "fr", "basic_english splits English only, not fr: choose rules=word or rules=moses"),
     ("moses", "french", "moses does not know the language french")],
)  # fmt: skip
def test_a_tokenizer_refuses_a_language_that_it_does_not_know(name, language, message):
    with pytest.raises(InputError, match=re.escape(message)):
        KINDS[name](language=language)


def test_lower_casing_is_a_switch():
    for name in ("word", "moses", "whitespace"):
        lower = KINDS[name](language="en", case="lower")
        assert lower.tokens("The CAT") == ["the", "cat"]
        kept = KINDS[name](language="en")
        assert kept.tokens("The CAT") == ["The", "CAT"]


def test_a_special_token_written_in_a_text_is_unknown(tmp_path):
    source, _ = trained(tokenizer="whitespace")
    assert source.encode("<pad> <eos> <bos> it") == [UNKNOWN_ID] * 3 + source.encode("it")
    assert source.unknown("<pad> it <eos> Zebra <pad>") == ["<pad>", "<eos>", "Zebra", "<pad>"]


@pytest.mark.parametrize("name", ["unigram", "bpe"])
def test_of_subwords_the_characters_in_bytes_are_unknown(name, tmp_path):
    source, _ = trained(joint=True, tokenizer=name, vocab_size=330, case="lower")
    text = "A cat, 日本 é ½日 it"
    assert source.unknown(text) == ["日", "本", "½", "日"]
    in_bytes = [token for token in source.tokens(text) if re.fullmatch("<0x..>", token)]
    assert len(in_bytes) == len("日本½日".encode())
    assert UNKNOWN_ID not in source.encode(text)
    assert source.unknown("") == []


def trained(**changes):
    return tokenizers_of(list(map(SentencePair, ENGLISH, FRENCH)), **changes)


def test_rare_words_become_unknown_and_the_vocabulary_is_bounded(tmp_path):
    pairs = [SentencePair("a a a b b c c d", "x")]
    source, _ = tokenizers_of(pairs, min_frequency=2, vocab_size=6)
    assert source.vocabulary == [*SPECIALS, "a", "b"]
    assert source.encode("a c d") == [4, UNKNOWN_ID, UNKNOWN_ID]


@pytest.mark.parametrize(
    "changes", [{}, {"joint": True}, {"tokenizer": "bpe", "joint": True, "vocab_size": 330}]
)
def test_a_joint_vocabulary_is_one_and_the_same(tmp_path, changes):
    source, target = trained(**changes)
    assert (source.vocabulary == target.vocabulary) == changes.get("joint", False)


@pytest.mark.parametrize(
    ("language", "text", "options"),
    [("fr", "Aujourd'hui l'homme n'est pas là.", {"rules": "moses"}), ("tr", "ILIK IŞIK", {"case": "lower"})],
)
def test_a_joint_vocabulary_knows_the_words_of_the_rules_of_each_language(language, text, options):
    data = PairsCorpus(
        train=[("I see it.", text)], validation=[("I", "I")], source_language="en", target_language=language,
        tokenizer=partial(WordTokenizer, **options), joint_vocabulary=True,
    )  # fmt: skip
    source, target = data.tokenizers
    assert target.unknown(text) == source.unknown("I see it.") == []
    assert source.vocabulary == target.vocabulary


@pytest.mark.parametrize(
    "changes",
    [{}, {"tokenizer": "unigram", "vocab_size": 320}, {"tokenizer": "moses"},
     {"tokenizer": "character", "case": "lower"}, {"tokenizer": "whitespace"}],
)  # fmt: skip
def test_a_saved_tokenizer_is_the_same(tmp_path, changes):
    tokenizers = trained(**changes)
    for side, tokenizer in zip(("source", "target"), tokenizers, strict=True):
        tokenizer.save(tmp_path, side)
        loaded = Tokenizer.load(tmp_path, side)
        for text in (*ENGLISH[:3], *FRENCH[:3], "unseen Wörter"):
            assert loaded.encode(text) == tokenizer.encode(text)
            assert loaded.decode(loaded.encode(text)) == tokenizer.decode(tokenizer.encode(text))


def test_a_size_that_does_not_suit_the_text_is_refused(tmp_path):
    message = r"vocab_size=270 does not suit this text: its characters alone need 285; give more"
    with pytest.raises(InputError, match=message):
        trained(tokenizer="unigram", vocab_size=270)


class Suffixes(WhitespaceTokenizer):
    """Splits the last letters off that it has learned, which `save` knows nothing of."""

    endings = frozenset()

    def fit(self, texts):
        self.endings = {word[-1] for text in texts for word in text.split()}
        super().fit(texts)

    def split(self, text):
        parts = ([word[:-1], f"@{word[-1]}"] if word[-1] in self.endings else [word] for word in text.split())
        return [token for each in parts for token in each if token]

    def join(self, tokens):
        return " ".join(tokens).replace(" @", "")


def test_a_tokenizer_that_loses_what_it_has_learned_is_refused_when_it_is_saved(tmp_path):
    pairs = [("the cats", "a b"), ("a dog", "c d")]
    data = PairsCorpus(train=pairs, validation=pairs, tokenizer=Suffixes)
    for write in (
        data.prepared.save_tokenizers,
        lambda folder: save_proved(data.tokenizers[0], folder, "source"),
    ):
        with pytest.raises(InputError, match="read_model"):
            write(tmp_path)


@pytest.mark.parametrize(("options", "text"), [
    ({"joints": False}, "i see ( the dogs' ) house ."), ({"rules": "basic_english"}, "i see ( the dogs ' ) house ."), ({"rules": "moses"}, "i see (the dogs') house."),
])  # fmt: skip
def test_words_without_joints_are_those_of_a_paper_and_spaces_separate_them(options, text, tmp_path):
    tokenizer = WordTokenizer(language="en", **options)
    tokenizer.fit(["i see (the dogs') house."])
    tokenizer.save(tmp_path, "source")
    loaded = Tokenizer.load(tmp_path, "source")
    assert (
        tokenizer.decode(tokenizer.encode("i see (the dogs') house."))
        == text
        == loaded.decode(loaded.encode(text))
    )
    with pytest.raises(InputError, match="joints"):
        WordTokenizer(language="en", **options | {"joints": "yes" if "joints" in options else True})


@pytest.mark.parametrize("rules", ["word", "basic_english", "moses"])
def test_words_of_rules_that_are_gone_are_refused_with_what_to_do(rules, tmp_path):
    tokenizer = WordTokenizer(language="en", rules=rules)
    tokenizer.fit(["a b"])
    tokenizer.save(tmp_path, "source")
    saved = json.loads((tmp_path / "source.json").read_text())
    del saved["arguments"]["joints"]  # which a folder of 0.4 does not have
    (tmp_path / "source.json").write_text(json.dumps(saved))
    if rules == "moses":  # is as it was
        assert Tokenizer.load(tmp_path, "source").decode([4, 5]) == "a b"
    else:
        with pytest.raises(InputError, match="train it again"):
            Tokenizer.load(tmp_path, "source")


@pytest.mark.parametrize(
    ("lowercase", "truecase", "written"),
    [(False, False, "er Morgen ."), (True, False, "er morgen ."), (True, True, "Er Morgen ."), (False, True, "er Morgen .")],
)  # fmt: skip
def test_a_tokenizer_of_version_0_4_has_its_case(lowercase, truecase, written, tmp_path):
    tokenizer = WhitespaceTokenizer(case="restore" if lowercase else "keep", language="de")
    tokenizer.fit(["er Morgen ."])
    tokenizer.learn_case(["Er Morgen ."] * 9)
    tokenizer.save(tmp_path, "target")
    saved = json.loads((tmp_path / "target.json").read_text())
    saved["arguments"] = {"language": "de", "lowercase": lowercase, "truecase": truecase}
    (tmp_path / "target.json").write_text(json.dumps(saved))
    loaded = Tokenizer.load(tmp_path, "target")
    assert loaded.decode(loaded.encode("er Morgen .")) == written
    assert loaded.arguments == {"language": "de", "case": loaded.case}


@pytest.mark.parametrize("size", [-1, 3, 4])
def test_a_vocabulary_without_room_for_tokens_is_refused(size):
    with pytest.raises(InputError, match="vocab_size"):
        WhitespaceTokenizer(vocab_size=size)


@pytest.mark.parametrize(
    "kind", [CharacterTokenizer, SentencePieceTokenizer, WhitespaceTokenizer, WordTokenizer]
)
def test_a_saved_tokenizer_names_its_class_as_python_does_whichever_file_has_it(kind, tmp_path):
    tokenizer = kind(language="en")
    tokenizer.fit(ENGLISH)
    tokenizer.save(tmp_path, "source")
    named = json.loads((tmp_path / "source.json").read_text())["class"]
    assert named == f"seq2seq.data.tokenizers.{kind.__name__}"
