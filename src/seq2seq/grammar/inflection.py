"""Regular inflection of English and French words."""

import re

ENGLISH_SIBILANT = re.compile(r"(s|x|ch|sh)$")
CONSONANT_Y = re.compile(r"([^aeiou])y$")
ENGLISH_VOWEL = re.compile(r"[aeiou]")


def english_s(word: str) -> str:
    """Plural of a noun, or third person of a verb."""
    if word.endswith("o") and word != "piano":
        return f"{word}es"
    if ENGLISH_SIBILANT.search(word):
        return f"{word}es"
    return CONSONANT_Y.sub(r"\1ie", word) + "s"


def english_past(word: str) -> str:
    """Past of a regular verb."""
    return CONSONANT_Y.sub(r"\1i", word).removesuffix("e") + "ed"


def english_article(next_word: str) -> str:
    """The indefinite article before a word; no word of the lexicon begins with a silent h."""
    return "an" if ENGLISH_VOWEL.match(next_word.lower()) and next_word != "useful" else "a"


def french_plural(word: str) -> str:
    """Plural of a noun or adjective, of its first word in a compound."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("eau"):
        return f"{word}x"
    if word.endswith("al"):
        return word.removesuffix("al") + "aux"
    return f"{word}s"


def french_feminine(word: str) -> str:
    """Feminine of a regular adjective."""
    return word if word.endswith("e") else f"{word}e"


def french_er_verb(infinitive: str) -> list[str]:
    """[je, il, nous, vous, ils, participle] of a regular verb in -er."""
    stem = infinitive.removesuffix("er")
    return [f"{stem}{ending}" for ending in ("e", "e", "ons", "ez", "ent", "é")]
