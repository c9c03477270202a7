"""Which words of a text each token has a part of, whatever has split it.

Places are in bytes of UTF-8, because a piece may be part of a character.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, groupby

from joined_words.marks import shown

UNWORDED = frozenset({"<bos>", "<eos>", "<pad>"})
"""Tokens that are part of no word. (``<unk>`` stands for a word.)"""

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
"""A byte token of SentencePiece, for a character that is not in its vocabulary."""


def word_indices(tokens: Sequence[str], words: Sequence[str]) -> list[range]:
    """Return the indices of the words that each token has a part of: more than one if it crosses a border.

    Indices count from 0; special tokens such as ``<eos>`` have none. Tokens are searched in the words one after
    another, also in lower case; characters that the tokenizer drops, such as the quotes of ``basic_english``,
    are skipped.

    Args:
        tokens: Words or SentencePiece pieces, as a tokenizer returns them.
        words: The words of the same text, in the same case.

    Raises:
        ValueError: The tokens do not spell the words. An ``<unk>`` matches only itself.
    """
    if not words:
        return [range(0)] * len(tokens)
    spelled = [
        b"" if token in UNWORDED else _without_spaces(text)
        for token, text in zip(tokens, _token_bytes(tokens), strict=True)
    ]
    for cased in (words, [word.lower() for word in words]):
        parts = [_without_spaces(_as_bytes(word)) for word in cased]
        starts = _offsets(spelled, b"".join(parts))
        if starts is not None:
            break
    else:
        raise ValueError(f"the tokens {' '.join(tokens)} do not spell {' '.join(words)}")
    ends = list(accumulate(map(len, parts)))[:-1]  # what follows the last word counts as part of it
    return [
        range(0)
        if token in UNWORDED
        else range(bisect_right(ends, start), bisect_right(ends, start + max(len(text) - 1, 0)) + 1)
        for token, text, start in zip(tokens, spelled, starts, strict=True)
    ]


def _token_bytes(tokens: Sequence[str]) -> list[bytes]:
    """Return the bytes of tokens, with spaces; byte tokens such as <0xE2> become one byte each."""
    found: list[bytes] = []
    for are_bytes, run in groupby(tokens, lambda token: _BYTE.fullmatch(token) is not None):
        if not are_bytes:
            found += (_as_bytes(shown(token, " ")) for token in run)
            continue
        for sign in _as_text(bytes(int(token[3:5], 16) for token in run)):
            parts = [bytes([byte]) for byte in _as_bytes(sign)]
            found += [b" "] + [b""] * (len(parts) - 1) if sign.isspace() else parts
    return found


def _without_spaces(text: bytes) -> bytes:
    return _as_bytes("".join(_as_text(text).split()))


def _offsets(tokens: Sequence[bytes], text: bytes) -> list[int] | None:
    """Return where each token begins; None if letters or digits of the text are in no token."""
    found, end = [], 0
    for token in tokens:
        place = text.find(token, end)
        if place < 0 or _holds_letters(text[end:place]):
            return None
        found.append(place)
        end = place + len(token)
    return None if _holds_letters(text[end:]) else found


def _holds_letters(text: bytes) -> bool:
    return any(map(str.isalnum, text.decode(errors="ignore")))


def _as_bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _as_text(text: bytes) -> str:
    """Decode UTF-8, also parts of characters; the inverse of `_as_bytes`."""
    return text.decode(errors="surrogateescape")
