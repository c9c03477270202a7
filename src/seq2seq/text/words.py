"""Words and punctuation: splitting text, and joining it by the rules of a language."""

import re
from collections.abc import Sequence

WORD = re.compile(r"\w+(?:-\w+)*['’]?|[^\w\s]")
"""A word with its hyphens and an apostrophe at its end ("l'", "est-ce"), or one other sign."""

CLOSING = re.compile(r" ([.,;:!?…)\]}%»])")
OPENING = re.compile(r"([(\[{«]) ")
APOSTROPHE = re.compile(r"(?<=\w)(['’]) ")
ENGLISH_APOSTROPHE = re.compile(r"(?i)(?:(?<=\bo)|(?<=\w)(?=['’] (?:s|t|d|m|ll|re|ve)\b))(['’]) ")
"""The apostrophes that English writes without a space after them: o'clock, don't, it's."""
SPACED_APOSTROPHE = re.compile(r"(?<=\w) (?=')")
FRENCH_CLOSING = re.compile(r" ?([;:!?»])")
FRENCH_OPENING = re.compile(r"(«) ?")


def split_words(text: str) -> list[str]:
    """Words and punctuation signs of a sentence."""
    return WORD.findall(text)


def join_words(words: Sequence[str], language: str) -> str:
    """Words joined by spaces, punctuation by the rules of the language.

    French sets a space before ``? ! : ;`` and inside ``« »``; English has a space after the
    apostrophe of ``the dogs' house`` and none in ``it's``. White space of another form is not
    restored.
    """
    text = OPENING.sub(r"\1", CLOSING.sub(r"\1", " ".join(words)))
    text = (ENGLISH_APOSTROPHE if language == "en" else APOSTROPHE).sub(r"\1", text)
    if language == "fr":
        text = FRENCH_CLOSING.sub(r" \1", FRENCH_OPENING.sub(r"\1 ", text))
    return text


def join_basic_english(words: Sequence[str]) -> str:
    """Tokens of ``basic_english``, which sets every apostrophe apart, as English text."""
    text = SPACED_APOSTROPHE.sub("", " ".join(words))
    return join_words(text.split(" "), "en")
