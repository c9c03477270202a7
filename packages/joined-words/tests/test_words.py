"""Cleaning, lower case, words, and their joints."""

import unicodedata
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joined_words import (
    ESCAPED,
    JOINT,
    SPACE_MARK,
    clean,
    join_with_joints,
    lowered,
    shown,
    split_with_joints,
    split_words,
    text_words,
)


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
    assert join_with_joints(split_with_joints(text)) == text
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
    tokens = split_with_joints(text)
    assert join_with_joints(tokens) == clean(text)
    assert [shown(token, SPACE_MARK) for token in tokens] == split_words(text)


@pytest.mark.parametrize(("text", "tokens"), [
    ("Press Ctrl+V (twice).", "Press Ctrl ￭+￭ V (￭ twice ￭) ￭."), ("l'ami d' Hans' Haus", "l'￭ ami d' Hans' Haus"), ("20 % oder 20%", "20 % oder 20 ￭%"),
    ("使用Writer 7、 字（漢 字）", "使 用 ￭Writer 7 、￭ 字 （ 漢 ￭字 ）"), ("“字”。", "“￭ 字 ￭” 。"),
])  # fmt: skip
def test_the_word_of_the_kind_with_fewer_words_carries_the_joint(text, tokens):
    assert split_with_joints(text) == tokens.split()


@pytest.mark.parametrize("letter", ["漢", "!", "😀"])
def test_a_long_line_without_spaces_is_read(letter):
    """In a time that is its length; squared, it would be an hour."""
    assert split_words(letter * 200_000) == [letter] * 200_000


def test_a_long_number_after_a_percent_sign_is_read():
    """In a time that is its length, as above; its zeros are flags or digits of a format string."""
    assert split_words("%" + "0" * 200_000) == ["%", "0" * 200_000]


@pytest.mark.parametrize(("language", "text", "words"), [
    ("zh", "在5月3日打开Writer。", "在 5 月 3 日 打 开 Writer 。"), ("ja", "東京タワーは、333人", "東 京 タ ワ ー は 、 333 人"),
    ("en", "the sign 漢字 is old", "the sign 漢 字 is old"), ("yue", "佢哋〇八年嚟", "佢 哋 〇 八 年 嚟"),
    ("ja", "ﾃﾞｰﾀ・ﾍﾞｰｽ", "ﾃﾞ ｰ ﾀ ・ ﾍﾞ ｰ ｽ"), ("zh", "卡尔·马增长3.5%的", "卡 尔 · 马 增 长 3.5 % 的"),
])  # fmt: skip
def test_letters_of_chinese_and_japanese_are_words(language, text, words):
    assert split_words(text) == words.split()
    marked = split_with_joints(text)
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


def test_a_capital_with_a_dot_is_one_letter_in_every_language():
    assert lowered("İI", "en") == "ii"
    assert lowered("İI", "tr") == "iı"
    assert lowered("ǅΣ", "el") == "ǅΣ".lower()
