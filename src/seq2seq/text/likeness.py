"""Sentences that differ in case and punctuation alone are one sentence where splits are made."""

import unicodedata


class _Signs(dict[int, str | None]):
    """For `str.translate`: leaves out punctuation, white space, controls and marks unseen."""

    def __missing__(self, code: int) -> str | None:
        kept = chr(code) if unicodedata.category(chr(code))[0] not in "PZC" else None
        self[code] = kept
        return kept


_SIGNS = _Signs()


def likeness(sentence: str) -> str:
    """What is left of a sentence without case, punctuation and spaces; all of it if nothing is."""
    return sentence.casefold().translate(_SIGNS) or sentence
