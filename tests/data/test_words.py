"""Words as tokenizers and alignments use them, and codes of languages."""

import locale
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joined_words import clean, split_words
from seq2seq.common.errors import InputError
from seq2seq.data import PairsCorpus
from seq2seq.data.languages import base_language, is_unspaced
from seq2seq.data.text import SentencePair, with_alignments
from seq2seq.data.tokenizers import CharacterTokenizer, SentencePieceTokenizer, WordTokenizer
from seq2seq.evaluation import scores_of
from seq2seq.evaluation.bleu import cased_bleu

SENTENCE = "Two dogs run."


@pytest.mark.parametrize(
    "written",
    ["Two  dogs\trun. ", "Two\u00a0dogs\u202frun.", "\ufeffTwo dogs run.", "\u200bTwo dogs run.", "Two do\u00adgs run.\r",
     "\u200eTwo dogs\u200f run.", "Two\u3000dogs\u2028run.", "Two\0 do\x07gs \u200b run.", "\u2067Two\u2069 dogs\x85run.", "\x93Two\x94 dogs run.\x80",
     "Two \u3164dogs\udcff\ud800 run.\ufff9\U000e0001\U0001d173"],
)  # fmt: skip
def test_every_tokenizer_reads_the_same_sentence_whatever_its_spaces_and_invisible_characters(written):
    subwords = SentencePieceTokenizer(vocab_size=300)
    subwords.fit([SENTENCE, "Run to dogs."] * 20)
    for tokenizer in (subwords, WordTokenizer(), CharacterTokenizer()):
        assert tokenizer.tokens(written) == tokenizer.tokens(SENTENCE)
        assert tokenizer.encode_all([written]) == tokenizer.encode_all([SENTENCE])
        assert tokenizer.unknown(written) == tokenizer.unknown(SENTENCE)


@settings(max_examples=200, deadline=None)
@given(
    text=st.text(
        st.one_of(st.characters(), st.sampled_from("aİк्ी漢字5. ()'\u0301\u200c￭▁\ufff9、「）")), max_size=20
    )
)
def test_words_make_every_clean_text_again_and_are_read_without_their_joints(text):
    tokenizer = WordTokenizer()
    tokenizer.fit([text])
    ids = tokenizer.encode(text)
    assert tokenizer.join(tokenizer.split(text)) == tokenizer.decode(ids) == clean(text)
    assert tokenizer.words(ids) == split_words(text)


def test_a_word_whose_joint_is_unknown_is_read_as_the_word():
    tokenizer = WordTokenizer()
    tokenizer.fit(["(a dog) a b. b. b 1 %"])
    for text, known in (("b 1%.", "b 1 %."), ("a ( b", "a (b"), ("a . dog", "a. dog")):
        assert tokenizer.decode(tokenizer.encode(text)) == known
        assert not tokenizer.unknown(text)
    assert tokenizer.unknown("(cat)") == ["cat"]


def test_links_between_words_with_marks_are_links_of_words(tmp_path):
    path = tmp_path / "links"
    path.write_text("0-0 1-1 2-2\n")
    pair = SentencePair("वह पढ़ती है।", "elle lit .")
    (found,) = with_alignments([pair], path, "data.alignments")
    assert split_words(pair.source) == ["वह", "पढ़ती", "है", "।"]
    assert {(0, 0), (1, 1)} <= set(found.alignment)


@pytest.mark.parametrize("language", ["tr", "tur_Latn", "az", "kk-Latn"])
def test_capitals_with_and_without_a_dot_come_back(language):
    text = ["Yarın İstanbul'a gidiyorum.", "Dün İsmail geldi.", "İki ışık gördüm.", "Isparta güzel."]
    tokenizer = WordTokenizer(language=language, case="restore")
    tokenizer.fit(text)
    tokenizer.learn_case(text)
    assert [tokenizer.decode(tokenizer.encode(each)) for each in text] == text


def test_links_of_letters_are_links_of_words_and_a_place_beyond_them_is_refused(tmp_path):
    path = tmp_path / "links"
    path.write_text("0-0 1-2 1?3\n0-0\n")
    pairs = [SentencePair("Close it.", "关闭它。"), SentencePair("Cats", "猫们")]
    found = with_alignments(pairs, path, "data.alignments")
    assert set(found[0].alignment) - set(found[0].possible) == {(0, 0), (1, 2)}
    assert (2, 3) in found[0].possible  # "." belongs to "。"
    path.write_text("0-0 1-4\n0-0\n")
    with pytest.raises(InputError, match="1-4 is outside the sentence pair of 2 and 4 words"):
        with_alignments(pairs, path, "data.alignments")


def test_words_of_a_language_without_spaces_are_warned_of_where_they_are_sentences(capsys):
    WordTokenizer(language="th").fit(["ฉัน กิน ข้าว"])  # separated before
    WordTokenizer(language="zh").fit(["指定树控件每一行的高度"])
    assert not capsys.readouterr().err
    WordTokenizer(language="tha").fit(["ฉันกินข้าวที่บ้านทุกวัน", "เขาไม่ชอบกาแฟร้อน"])
    assert "tokenizer=bpe" in capsys.readouterr().err


CODES = {
    "zh": ("zho", "zho_Hans", "cmn", "yue", "chi", "zh-TW", "ZH"), "th": ("tha", "tha_Thai"), "ja": ("jpn", "jpn_Jpan"),
    "en": ("eng", "eng_Latn", "en-US"), "fr": ("fra", "fre", "fr-CA"), "de": ("deu", "ger"), "fa": ("pes", "prs_Arab"),
    "pt": ("por", "pt-BR", "pt_PT"), "ar": ("arb", "arz_Arab"), "ms": ("zsm",), "et": ("ekk",), "gsw": ("gsw",),
}  # fmt: skip


def test_any_code_of_a_language_is_that_language():
    for base, codes in CODES.items():
        assert {base_language(code) for code in (base, *codes)} == {base}


@pytest.mark.parametrize(
    ("code", "unspaced"),
    [("zh-Hant-TW", True), ("shn_Mymr", True), ("nod", True), ("th-TH", True), ("nan_Latn", False), ("ja-Latn", False), ("en", False),
     ("sr-Latn-RS", False), ("lzh", True), ("ksw_Mymr", True)],
)  # fmt: skip
def test_the_script_of_a_code_says_whether_words_have_spaces(code, unspaced):
    assert is_unspaced(code) == unspaced
    assert ("ter" in scores_of(["a b"], ["a b"], code)) != unspaced


@pytest.mark.parametrize(("codes", "text", "reference"), [
    (("my", "mya_Mymr", "shn_Mymr", "ksw_Mymr"), "ၶဝ်ၵႃႇႁူင်းႁဵၼ်း။", "ၶဝ်ႁူင်းႁဵၼ်းၵႃႇ။"),
    (CODES["zh"], "我昨天去了学校。", "我昨天去学校了。"), (CODES["th"], "เขาไม่ชอบกาแฟ", "เขาไม่ชอบดื่มกาแฟ"),
])  # fmt: skip
def test_bleu_is_that_of_the_language_whatever_its_code(codes, text, reference):
    (score,) = {cased_bleu([text], [reference], code) for code in codes}
    assert score > 30


def test_rules_of_moses_know_every_code():
    for code in ("pt-BR", "eng_Latn", "fra", "zh-TW"):
        assert WordTokenizer(language=code, rules="moses").tokens("old dog.")[-1] == "."


@pytest.mark.parametrize(
    ("code", "meant"),
    [("xx", None), ("xx-Latn", None), ("jp", "ja"), ("cz", "cs"), ("ed", "de"), ("rf", "fr")],
)
def test_two_letters_of_no_language_are_warned_of_and_taken(code, meant, capsys):
    corpus = PairsCorpus(train=[("a", "b")], validation=[("a", "b")], source_language=code)
    assert corpus.prepared.train
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"data.source_language={code}" in said
    assert ("did you mean" in said) == (meant is not None)
    assert meant is None or f"mean {meant}?" in said


def test_codes_that_are_known_or_of_three_letters_are_taken_without_a_word(capsys):
    of_systems = {
        match[0] for each in locale.locale_alias.values() if (match := re.match("[a-z]{2}(?=_)", each))
    }
    invented = {"pd", "ph", "pp"}  # of X11
    known = [*(of_systems - invented), "iw", "src", "und", "mul", "qaa", "kmr", "pt-BR", "zh_Hant_TW"]
    for code in known:
        PairsCorpus(train=[("a", "b")], validation=[("a", "b")], source_language=code)
    assert capsys.readouterr() == ("", "")
