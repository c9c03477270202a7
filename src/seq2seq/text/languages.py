"""Language codes, and what is known of a language's letters. Needs no torch."""

import difflib
from collections.abc import Iterable

ENGLISH_NAMES = {
    "english": "en",
    "french": "fr",
    "german": "de",
    "czech": "cs",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
}

LETTERS = {
    "en": "",
    "fr": "àâæçéèêëîïôœùûüÿ",
    "de": "äöüß",
    "cs": "áčďéěíňóřšťúůýž",
    "es": "áéíñóúü",
    "it": "àéèìîòóù",
    "pt": "áâãàçéêíóôõú",
    "nl": "áéëïíóöúü",
}
"""Letters of a language besides a to z."""


UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})
"""Languages that are written without spaces between words."""


def base_language(code: str) -> str:
    """The language of a code without its region or script: zh of zh-TW and zh_Hant."""
    return code.replace("_", "-").partition("-")[0].lower()


def nearest_language(code: str, known: Iterable[str]) -> str:
    """A hint such as ``, did you mean fr?``; empty where nothing is near."""
    known = list(known)
    named = ENGLISH_NAMES.get(code.lower())
    spelt_so = difflib.get_close_matches(code.lower(), known, n=1, cutoff=0.5)
    near = [named] if named in known else spelt_so or [k for k in known if code.startswith(k)][:1]
    return f", did you mean {near[0]}?" if near else ""
