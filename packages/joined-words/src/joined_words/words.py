"""Text before it becomes tokens, and words: cleaning, lower case, splitting and joining."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import regex

from joined_words.marks import ESCAPED, JOINT, SPACE_MARK, shown

INVISIBLE = regex.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u17b4\u17b5\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001]"
)
"""Control characters that are no white space, and what stands for nothing: soft hyphens, halves of surrogate pairs…"""


def clean(text: str) -> str:
    """Return a sentence as every tokenizer reads it, which is blank if it has no text.

    Each run of white space of any kind becomes one space, those at the ends are left out, and so are the characters
    `INVISIBLE`. Joiners (U+200C, U+200D) and variation selectors stay: they are spelling.
    """
    return " ".join(INVISIBLE.sub("", text).split())


DOTLESS = regex.compile("(?i)(tr|tur|az|aze|azj|azb|gag|crh)([-_].*)?|(kk|kaz|tt|tat)[-_]latn")


def has_dotless_i(language: str) -> bool:
    """Return whether the language of a code lower-cases I to ı, and İ to i: Turkish and its relatives in Latin letters."""
    return DOTLESS.fullmatch(language) is not None


def lowered(text: str, language: str) -> str:
    """Return text in lower case; İ becomes i, without a second dot, and I becomes ı in Turkish and its relatives."""
    text = text.replace("I", "ı") if has_dotless_i(language) else text
    return text.replace("İ", "i").lower()


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

_UNSPACED = regex.compile(UNSPACED_LETTER)
_SPACED = regex.compile(rf"{UNSPACED_LETTER}\p{{M}}*\s+{UNSPACED_LETTER}")
_WIDE = regex.compile("[\u3001-\u3003\u3008-\u301f・！-／：-＠［-｀｛-･]")
"""Punctuation of Chinese and Japanese, which has its space within."""


def split_words(text: str) -> list[str]:
    """Return the words, numbers, addresses and marks of a sentence, cleaned; a letter of Chinese or Japanese is a word."""
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
    num_spaced = sum(_SPACED.search(text) is not None for text in longer)
    return num_letters > num_others and 2 * num_spaced <= len(longer)


def split_with_joints(text: str) -> list[str]:
    """Return the words of `split_words`; where two do not stand as `_kinds` says, one carries a `JOINT`.

    It is the one of the kind with fewer words: ``Ctrl ￭+￭ V``, ``(￭ file ￭)``, ``l'￭ ami``, ``10 ￭%``, ``漢 ￭%``.
    """
    text, end = clean(text), 0
    words = WORD.findall(text)
    tokens = [word.replace(JOINT, ESCAPED) for word in words]
    for place, ((left, _), (_, right)) in enumerate(pairwise(map(_kinds, words))):
        end += len(words[place])
        has_space = text[end] == " "
        end += has_space
        if (0 in (left, right) or left == right == 3) == has_space:
            if left < right:
                tokens[place] += JOINT
            else:
                tokens[place + 1] = JOINT + tokens[place + 1]
    return tokens


def join_with_joints(tokens: Sequence[str]) -> str:
    """Return the text of tokens: the inverse of `split_with_joints` for every clean text."""
    words = [shown(token, SPACE_MARK) for token in tokens]
    text = "".join(words[:1])
    for place, ((left, _), (_, right)) in enumerate(pairwise(map(_kinds, words))):
        touch = 0 in (left, right) or left == right == 3
        if tokens[place].endswith(JOINT) or tokens[place + 1].startswith(JOINT):
            touch = 0 < (left if tokens[place].endswith(JOINT) else right) < 3
        text += words[place + 1] if touch else f" {words[place + 1]}"
    return text


@lru_cache(maxsize=1 << 16)
def _kinds(word: str) -> tuple[int, int]:
    """Return the kind of a word to its right and to its left: 0 as 。, 1 another sign, 2 with a letter, 3 as 漢.

    Without a joint words of kind 0 touch all others, and those of kind 3 each other.
    """
    if _UNSPACED.match(word) or _WIDE.match(word):
        return (3, 3) if _UNSPACED.match(word) else (0, 0)
    return 1 + bool(LETTERS.search(word[-1:])), 1 + bool(LETTERS.search(word))
