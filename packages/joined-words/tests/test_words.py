"""Cleaning, lower case, words and codes of languages."""

import locale
import re
import unicodedata
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.common.errors import InputError
from seq2seq.common.marks import ESCAPED, JOINT, SPACE_MARK, shown
from seq2seq.data import PairsCorpus
from seq2seq.data.languages import base_language, is_unspaced
from seq2seq.data.text import SentencePair, with_alignments
from seq2seq.data.tokenizers import CharacterTokenizer, SentencePieceTokenizer, WordTokenizer
from seq2seq.data.words import clean, lowered, split_words, text_words
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


@pytest.mark.parametrize("text", ["می‌خواهم", "👩‍🚀", "❤️", "क्‍ष"])
def test_joiners_and_variation_selectors_are_spelling(text):
    assert clean(text) == text


SPELLINGS = [
    "वह किताब पढ़ती है।", "मैं हिन्दी सीख रहा हूँ।", "ฉันไม่รู้จักเขา วันนี้", "كِتَابٌ جَدِيدٌ، نعم؟", "می‌خواهم بروم.",
    unicodedata.normalize("NFD", "L'été déjà, à Noël !"), unicodedata.normalize("NFD", "Tôi không biết, thưa ông."),
    "Hi 👨‍👩‍👧 and 👍🏽 of 🇫🇷 and 🏴\U000e0067\U000e0062\U000e007f ❤️ 1️⃣", "Er sagte: „Ja“.", "»Ja«, sagte er.",
]  # fmt: skip
LANGUAGES = ["hi", "hin_Deva", "th", "ar", "fa", "fr-CA", "vi", "en", "deu", "de"]
WRITTEN = [
    ("en", "It costs $3.50 (or 3,000,000€) at 10:30, -5°C."), ("de-AT", "3,5 Grad, z.B. 10.000 Obst- und Gemüsehändler."),
    ("es", "¿Qué? ¡Hola!"), ("spa", "¿Por qué «eso»?"), ("en", 'He said "yes" and "no".'), ("en", 'Come, he said."'),
    ("en", "See https://example.org/a?b=1, www.example.com or example.org."), ("en", "Mail me@example.org!"),
    ("en", "The U.S. and/or AT&T, #1 of @all, at 5 p.m. on 10/12/2020."), ("zh_Hant", "他说：“好。”"), ("ja", "「はい」、3人です。"),
    ("sv", "Han sade: ”Ja” och gick."), ("fr", "Il dit : « oui » ; à 10:30, https://example.org !"),
    ("en", "%s of {name}, 'so' they say"), ("tr", "İstanbul'a 5'te."), ("cmn", "在5月3日打开1,000个文件。"), ("zho", "卡尔·马克思增长3.5%的"), ("ja", "ﾃﾞｰﾀ・ベース"), ("ja", "データは 東京で。".replace(" ", "")),
    ("hy", "Ինչո՞ւ եկար, Այո՞։"), ("hy", "Ողջո՜ւյն, մի՛ գնա՝ այո։"), ("ca", "La col·lecció és intel·ligent."), ("he", "צה״ל בבית־ספר, רח׳ ג׳ון."),
    ("fi", "klo 10.30 EU:n ja k:a."), ("de", "Lehrer*innen, Lehrer:innen."), ("fa", "۱۲٬۳۴۵٫۵ کتاب."), ("ti", "ሰላም፣ እንታይ፧"),
    ("he", 'ארה"ב אמרה "כן".'), ("bo", "བོད་སྐད་ཡིག་གེ།"), ("uz", "O‘zbekiston bo‘ldi."), ("am", "ሰላም፡ልዑል።"),
    ("sl", "»Pridi!« je rekel."), ("hr", "Rekao je: »Da«, i otišao."), ("hu", "„Azt mondta: »igen«.”"), ("sv", "Han sade »ja« och gick."),
    ("de", "Er sagte «ja» und ging."), ("pl", "On: ›tak‹ i »nie«."), ("sv", "Han sade »ja» och gick."), ("es", "Dijo: «sí»."),
    ("en", "Read %u of %lu bytes, %5.2f MB, %.1f, %2$@, %1$u and %-5s."), ("en", "Hello ${user}, 100% sure."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "text"), [*zip(LANGUAGES, SPELLINGS, strict=True), *WRITTEN], ids=lambda each: each[:20]
)
def test_words_are_whole_and_the_text_comes_back_as_written(language, text):
    tokenizer = WordTokenizer(language=language)
    tokenizer.fit([text])
    assert tokenizer.decode(tokenizer.encode(text)) == text
    for token in split_words(text):
        assert unicodedata.category(token[0]) not in ("Mn", "Mc")
    assert len(split_words(text)) >= len(text.split())


LETTERS = "aéİıßकखािी्ंกรัูقَُّ漢字の5½" + "\u0301\u0323\u200c\u200d" + "👨👩👍🏽🇫🇷❤\ufe0f" + ".,:'-/@«»\"()。 %"


@settings(max_examples=50, deadline=None)
@given(text=st.text(st.sampled_from(LETTERS), max_size=12))
def test_no_word_begins_with_a_mark_and_words_of_parts_are_words_of_the_whole(text):
    words = split_words(text)
    assert "".join(words) == "".join(clean(text).split())
    assert words == [word for part in text.split() for word in split_words(part)]
    cleaned, end = clean(text), 0
    for before, word in pairwise(["", *words]):
        start = cleaned.index(word, end)
        joined = start == end and before[-1:].isalpha()  # without a space between them
        assert not (joined and unicodedata.category(word[0]) in ("Mn", "Mc", "Cf"))
        end = start + len(word)


DRAWN = [
    "".join(Random(seed).choices(LETTERS + JOINT + SPACE_MARK + "、「）ABC", k=seed % 24))
    for seed in range(1000)
]
"""Texts that a page splits and joins as the program does."""


@settings(max_examples=400, deadline=None)
@given(
    text=st.text(
        st.one_of(st.characters(), st.sampled_from(LETTERS + JOINT + ESCAPED + SPACE_MARK + "、「）")),
        max_size=20,
    )
)
def test_words_make_every_clean_text_again_and_are_read_without_their_joints(text):
    tokenizer = WordTokenizer()
    tokenizer.fit([text])
    ids = tokenizer.encode(text)
    assert tokenizer.join(tokenizer.split(text)) == tokenizer.decode(ids) == clean(text)
    assert tokenizer.words(ids) == split_words(text)


@pytest.mark.parametrize(("text", "tokens"), [
    ("Press Ctrl+V (twice).", "Press Ctrl ￭+￭ V (￭ twice ￭) ￭."), ("l'ami d' Hans' Haus", "l'￭ ami d' Hans' Haus"), ("20 % oder 20%", "20 % oder 20 ￭%"),
    ("使用Writer 7、 字（漢 字）", "使 用 ￭Writer 7 、￭ 字 （ 漢 ￭字 ）"), ("“字”。", "“￭ 字 ￭” 。"),
])  # fmt: skip
def test_the_word_of_the_kind_with_fewer_words_carries_the_joint(text, tokens):
    assert WordTokenizer().tokens(text) == tokens.split()


def test_a_word_whose_joint_is_unknown_is_read_as_the_word():
    tokenizer = WordTokenizer()
    tokenizer.fit(["(a dog) a b. b. b 1 %"])
    for text, known in (("b 1%.", "b 1 %."), ("a ( b", "a (b"), ("a . dog", "a. dog")):
        assert tokenizer.decode(tokenizer.encode(text)) == known
        assert not tokenizer.unknown(text)
    assert tokenizer.unknown("(cat)") == ["cat"]


@pytest.mark.parametrize("letter", ["漢", "!", "😀"])
def test_a_long_line_without_spaces_is_read(letter):
    """In a time that is its length; squared, it would be an hour."""
    assert split_words(letter * 200_000) == [letter] * 200_000


def test_a_long_number_after_a_percent_sign_is_read():
    """In a time that is its length, as above; its zeros are flags or digits of a format string."""
    assert split_words("%" + "0" * 200_000) == ["%", "0" * 200_000]


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


@pytest.mark.parametrize(("language", "text", "words"), [
    ("zh", "在5月3日打开Writer。", "在 5 月 3 日 打 开 Writer 。"), ("ja", "東京タワーは、333人", "東 京 タ ワ ー は 、 333 人"),
    ("en", "the sign 漢字 is old", "the sign 漢 字 is old"), ("yue", "佢哋〇八年嚟", "佢 哋 〇 八 年 嚟"),
    ("ja", "ﾃﾞｰﾀ・ﾍﾞｰｽ", "ﾃﾞ ｰ ﾀ ・ ﾍﾞ ｰ ｽ"), ("zh", "卡尔·马增长3.5%的", "卡 尔 · 马 增 长 3.5 % 的"),
])  # fmt: skip
def test_letters_of_chinese_and_japanese_are_words(language, text, words):
    assert split_words(text) == words.split()
    marked = WordTokenizer(language=language).tokens(text)
    assert not [token for token in marked if JOINT in token and shown(token)[0] > "\u3000"]


@pytest.mark.parametrize(("texts", "words"), [
    (["单击“确定”按钮。", "打开 Writer。"], ["单 击 “ 确 定 ” 按 钮 。", "打 开 Writer 。"]),
    (["東京タワーは高い。", "LibreOffice."], ["東 京 タ ワ ー は 高 い 。", "LibreOffice ."]),
    (["自行车 在 那里 。", "猫", "狗 跑"], ["自行车 在 那里 。", "猫", "狗 跑"]),  # separated before
    (["the sign 漢字, please.", "No."], ["the sign 漢字, please.", "No."]),
    (["Les chats dorment.", "«漢»"], ["Les chats dorment.", "«漢»"]), (["เขาไม่ชอบ กาแฟ"], ["เขาไม่ชอบ กาแฟ"]), ([], []),
])  # fmt: skip
def test_links_and_lengths_count_words_between_spaces_and_letters_where_there_are_none(texts, words):
    assert text_words(texts) == [each.split(" ") for each in words]


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


def test_a_capital_with_a_dot_is_one_letter_in_every_language():
    assert lowered("İI", "en") == "ii"
    assert lowered("İI", "tr") == "iı"
    assert lowered("ǅΣ", "el") == "ǅΣ".lower()


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
