"""Text before it becomes tokens, and words: cleaning, lower case, splitting and joining.

The interactive page has the same rules in JavaScript (``seq2seq/export/static/model.js``); a test compares them.
"""

from collections.abc import Sequence

import regex

from seq2seq.data.languages import base_language, has_dotless_i

INVISIBLE = regex.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u17b4\u17b5\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001]"
)
"""Control characters that are no white space, soft hyphens, byte order marks, zero-width spaces, marks of direction, fillers,
marks of annotation, shorthand and music that stand for nothing."""


def clean(text: str) -> str:
    """Return a sentence as every tokenizer reads it, which is blank if it has no text.

    Each run of white space of any kind becomes one space, those at the ends are left out, and so are the characters
    `INVISIBLE`. Joiners (U+200C, U+200D) and variation selectors stay: they are spelling.
    """
    return " ".join(INVISIBLE.sub("", text).split())


def lowered(text: str, language: str) -> str:
    """Return text in lower case; İ becomes i, without a second dot, and I becomes ı in Turkish and its relatives."""
    text = text.replace("I", "ı") if has_dotless_i(language) else text
    return text.replace("İ", "i").lower()


def raised(character: str, language: str) -> str:
    """Return the capital of a character; i becomes İ in Turkish and its relatives."""
    return "İ" if character == "i" and has_dotless_i(language) else character.upper()


# --- words -------------------------------------------------------------------------------------------------

UNSPACED_LETTER = r"(?=[\p{L}\p{Nl}])[\p{Han}\p{Hiragana}\p{Katakana}ー\uff70]"
"""A letter of Chinese or Japanese, which have no spaces: each is a word of its own, with its marks."""
LETTER = rf"(?:(?!{UNSPACED_LETTER})[\p{{L}}\p{{N}}\p{{M}}_\u200c\u200d՛՜՞])"
"""Another letter, a digit or combining mark, a joiner, or a mark of Armenian, which stand inside of words."""
WITHIN = r"[-/&·‘־׳״]|(?<=\p{N})[.,:’'٫٬](?=\p{N})|(?<=\p{L})[:*](?=\p{Ll})|(?<=\p{Script=Hebrew})\"(?=\p{Script=Hebrew})"
"""Signs between the letters of a word: est-ce, and/or, R&D, col·lecció, bo‘ldi, 10:30, EU:n, Lehrer*in, ארה"ב."""
_END = r"[^\s<>\"«»“”„\u3000-\u303f\uff00-\uffef.,;:!?…)\]}'’]"
_PATH = rf"[^\s<>\"«»“”„\u3000-\u303f\uff00-\uffef]*{_END}"
_START = r"(?<![^\s(\[])"
_MODIFIERS = "[\\p{M}\u200c\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"
# An address is sought only at letters that its signs follow: else a long line without spaces would take its length squared.
_KINDS = (
    rf"(?={LETTER}[\p{{L}}\p{{N}}\p{{M}}_\u200c\u200d՛՜՞+.-]*[@.:]\S)(?:(?:[a-zA-Z][a-zA-Z0-9+.-]*://|[wW]{{3}}\.){_PATH}",  # https://example.org/a
    rf"(?<!{LETTER}[+.-]?){LETTER}(?:[.+-]?{LETTER})*@{LETTER}(?:[.-]?{LETTER})*\.{LETTER}+",  # me@example.org
    rf"(?<!{LETTER}[.-]?)(?:{LETTER}+(?:-{LETTER}+)*\.)+(?:[cC][oO][mM]|[oO][rR][gG]|[nN][eE][tT])(?!{LETTER})(?:/{_PATH})?)",
    rf"(?<!{LETTER})\p{{L}}\p{{M}}*(?:\.\p{{L}}\p{{M}}*)+\.?(?!{LETTER})",  # U.S., z.B.
    rf"%(?:\({LETTER}+\)|[0-9]+\$)?[sdif](?!{LETTER})|\$\{{{LETTER}+\}}",  # %s, ${user}
    # %ld, %5.2f, %2$@; not after a number, as in 50%-os
    rf"(?<!\p{{N}})%(?:\({LETTER}+\)|[0-9]+\$)?[-+#0]*(?:[1-9][0-9]*)?(?:\.[0-9]+)?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGcsp@](?!{LETTER})",
    # -5, #1, est-ce, and/or, R&D, 10:30, 3.50, 20°C, 5€, l', Obst-
    rf"(?:{_START}(?:[-+−](?=\p{{N}})|[#@](?={LETTER})))?"
    rf"{LETTER}+(?:(?:{WITHIN}){LETTER}+)*(?:(?<=\p{{N}})[°\p{{Sc}}]{LETTER}*)?(?:['’׳]|-(?!\S))?",
    rf"{UNSPACED_LETTER}[\p{{M}}\u200c\u200d\uff9e\uff9f]*",  # 漢
    # one other character, a flag, or joined emoji
    "(?:[\U0001f1e6-\U0001f1ff]{2}|\\S)"
    rf"{_MODIFIERS}(?:\u200d(?:(?!{LETTER})\S){_MODIFIERS})*",
)
WORD = regex.compile("|".join(_KINDS))
"""A word with its hyphens and a final apostrophe ("l'", "est-ce"), a number, an address, or one other character."""

LETTERS = regex.compile(f"{LETTER}+")
"""A word as truecasing counts it."""

_UNSPACED, _SPACED = (
    regex.compile(UNSPACED_LETTER),
    regex.compile(rf"{UNSPACED_LETTER}\p{{M}}*\s+{UNSPACED_LETTER}"),
)

QUOTES = {'"': '"', "„": "“”", "“": "”"}
"""Quotation marks that open, and those that close what they opened."""
ANGLES = ("«", "»"), ("‹", "›")
"""Marks that open or close, by the language and the text."""
OTHER_QUOTES = {
    "de": {"»": "«", "›": "‹"}, "da": {"»": "«", "›": "‹"}, "sv": {"”": "”", "»": "»"}, "fi": {"”": "”", "»": "»"},
}  # fmt: skip
"""Marks that open in a language although they close in others."""
GLUE = "\0"
"""Stands where no space is to be; `clean` leaves none in a text."""

_THEN = '(?=[ "“”«»‹›]|$)'
CLOSING = regex.compile(r" ([.,;:!?…)\]}%»›”।॥،؛؟۔։՝፣-፧።។៕၊။།])" + _THEN)
FRENCH_CLOSING = regex.compile(r" ([.,…)\]}%›”])" + _THEN)
"""French has a space before ``? ! : ;`` and inside ``« »``."""
OPENING = regex.compile(r"(?<=^| )([(\[{«‹¿¡'‘‚]) ")
FRENCH_OPENING = regex.compile(r"(?<=^| )([(\[{‹'‘‚]) ")
CURRENCY = regex.compile(r"(?<!\p{N} )(?<=^| |\()(\p{Sc}) (?=\p{N})")
WIDE = regex.compile(
    r" ?([\u0f0b\u0f0c\u1361\u3001-\u3003\u3008-\u301f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]) ?"
)
"""Punctuation of Chinese and Japanese, which has its space within; what separates words of Tibetan and Ethiopic."""
WIDE_QUOTES = regex.compile(r" ?([“”‘’…—]) ?")
LETTER_GAP = regex.compile(rf"(?<={UNSPACED_LETTER}[\p{{M}}\uff9e\uff9f]*) (?={UNSPACED_LETTER})")
NUMBER_GAP = regex.compile(
    rf"(?<={UNSPACED_LETTER}\p{{M}}*) (?=\p{{Nd}})|(?<=[\p{{Nd}}%]) (?={UNSPACED_LETTER})"
    rf"|(?<={UNSPACED_LETTER}\p{{M}}*) (?=· {UNSPACED_LETTER})|(?<={UNSPACED_LETTER}\p{{M}}* ?·) (?={UNSPACED_LETTER})"
)
"""Spaces that Chinese and Japanese do not write at a number and within a foreign name: 5月3日, 3%的, 卡尔·马克思."""
APOSTROPHE = regex.compile(rf"(?<={LETTER})(['’]) (?![;:!?»](?: |$))")
ENGLISH_APOSTROPHE = regex.compile(
    rf"(?i)(?:(?<=(?<!{LETTER})o)|(?<={LETTER})(?=['’] (?:s|t|d|m|ll|re|ve)(?!{LETTER})))(['’]) "
)
"""Apostrophes that are not followed by a space in English: o'clock, don't, it's."""
SPACED_APOSTROPHE = regex.compile(rf"(?<={LETTER}) (?=')")


def split_words(text: str) -> list[str]:
    """Return the words, numbers, addresses and punctuation marks of a sentence, cleaned by `clean`.

    Each letter of Chinese and Japanese is a word.
    """
    return WORD.findall(clean(text))


def text_words(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text of one side, as links and lengths count them, whatever the tokenizer.

    Words are separated by white space. In Chinese and Japanese they are those of `split_words`, each letter and mark one,
    unless somebody has separated the words; see `is_unspaced`.
    """
    return [["".join(parts) for parts in words] for words in text_word_parts(texts)]


def text_word_parts(texts: Sequence[str]) -> list[list[list[str]]]:
    """Return the words of `text_words`, each as its words of `split_words`: ``["dogs", "."]`` of ``dogs.``"""
    if is_unspaced(texts):
        return [[[word] for word in split_words(text)] for text in texts]
    return [[split_words(word) for word in text.split()] for text in texts]


def is_unspaced(texts: Sequence[str]) -> bool:
    """Return whether texts are Chinese or Japanese, without spaces between words.

    They have more letters of these languages than other words, and few texts have a space between two such letters.
    """
    num_letters = sum(len(_UNSPACED.findall(text)) for text in texts)
    num_others = sum(_UNSPACED.search(word) is None for text in texts for word in text.split())
    longer = [text for text in texts if len(_UNSPACED.findall(text)) > 1]
    return num_letters > num_others and 2 * sum(_SPACED.search(text) is not None for text in longer) <= len(
        longer
    )


def join_words(words: Sequence[str], language: str) -> str:
    """Join words with spaces, and punctuation by the rules of the language.

    French has a space before ``? ! : ;`` and inside ``« »``; English has a space after the apostrophe of
    ``the dogs' house`` but not in ``it's``; Chinese and Japanese have none at punctuation and numbers. There is none between
    letters of `UNSPACED_LETTER`.
    """
    base = base_language(language)
    text = " ".join(_quoted(words, base)).replace(f" {GLUE}", "").replace(f"{GLUE} ", "").replace(GLUE, "")
    text = (FRENCH_CLOSING if base == "fr" else CLOSING).sub(r"\1", text)
    text = (FRENCH_OPENING if base == "fr" else OPENING).sub(r"\1", text)
    text = LETTER_GAP.sub("", WIDE.sub(r"\1", CURRENCY.sub(r"\1", text)))
    if base in ("zh", "ja"):
        text = NUMBER_GAP.sub("", WIDE_QUOTES.sub(r"\1", text))
    return (ENGLISH_APOSTROPHE if base == "en" else APOSTROPHE).sub(r"\1", text)


def _quotes(words: Sequence[str], base: str) -> dict[str, str]:
    """Return the marks that open in a text, and those that close what they opened: of « and » the first one opens."""
    quotes = {**QUOTES, **OTHER_QUOTES.get(base, {})}
    for left, right in ANGLES if base != "fr" else ():
        first = next((word for word in words if word in (left, right)), None)
        if first == right and left in words:
            quotes[right] = left
        elif first == left:
            quotes.pop(right, None)
    return quotes


def _quoted(words: Sequence[str], base: str) -> list[str]:
    """Return words in which quotation marks are glued to what they quote: every other one of ``"`` closes."""
    quotes, opened, found = _quotes(words, base), list[str](), list[str]()
    for place, word in enumerate(words):
        if len(word) == 1 and opened and word in opened[-1]:
            opened.pop()
            found.append(GLUE + word)
        elif word == '"' and '"' not in words[place + 1 :] and place and words[place - 1] not in "(:":
            found.append(GLUE + word)  # the last one of an odd number
        elif word in quotes:
            opened.append(quotes[word])
            found.append(word + GLUE)
        else:
            found.append(word)
    return found


def join_basic_english(words: Sequence[str]) -> str:
    """Join tokens of ``basic_english``, where every apostrophe is a token, to English text."""
    return join_words(SPACED_APOSTROPHE.sub("", " ".join(words)).split(" "), "en")
