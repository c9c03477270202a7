"""Names in messages: those that there are, and which of them a wrong one may stand for."""

import difflib
from collections.abc import Iterable


def hint(word: str, known: Iterable[str]) -> str:
    """A question at the end of a message: did you mean one of these?"""
    near = nearest(word, known)
    return f", did you mean {' or '.join(near)}?" if near else ""


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Up to three known keys that a misspelt one may stand for.

    The last part of the key counts as well as the whole, and initials count (lr: learning_rate).
    """
    known = list(known)
    leaf = word.rpartition(".")[2]
    by_initials = [k for k in known if _initials(k) == leaf]
    by_leaf = [k for k in known if difflib.SequenceMatcher(None, leaf, _leaf(k)).ratio() >= 0.75]
    by_whole = difflib.get_close_matches(word, known, n=3, cutoff=0.75)
    return list(dict.fromkeys([*by_initials, *by_whole, *by_leaf]))[:3]


def _leaf(key: str) -> str:
    return key.rpartition(".")[2]


def _initials(key: str) -> str:
    return "".join(part[0] for part in _leaf(key).split("_"))


def listed(options: Iterable[str]) -> str:
    """Names in a message."""
    return ", ".join(options) or "none"
