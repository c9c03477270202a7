"""Positions of tokens in a text, in bytes of UTF-8, because a piece may be part of a character."""

import re
from collections.abc import Sequence
from itertools import groupby

from seq2seq.data.vocabulary import SPACE_MARK

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
"""A byte token of SentencePiece, for a character that is not in its vocabulary."""


def said(tokens: Sequence[str]) -> list[bytes]:
    """Return the bytes of tokens, with spaces; byte tokens such as <0xE2> become one byte each."""
    found: list[bytes] = []
    for are_bytes, run in groupby(tokens, lambda token: _BYTE.fullmatch(token) is not None):
        if not are_bytes:
            found += (as_bytes(token.replace(SPACE_MARK, " ")) for token in run)
            continue
        for sign in as_text(bytes(int(token[3:5], 16) for token in run)):
            parts = [bytes([byte]) for byte in as_bytes(sign)]
            found += [b" "] + [b""] * (len(parts) - 1) if sign.isspace() else parts
    return found


def letters(text: bytes) -> bytes:
    """Return text without white space."""
    return as_bytes("".join(as_text(text).split()))


def places(tokens: Sequence[bytes], text: bytes) -> list[int] | None:
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


def as_bytes(text: str) -> bytes:
    """Encode text as UTF-8."""
    return text.encode(errors="surrogateescape")


def as_text(text: bytes) -> str:
    """Decode UTF-8, also parts of characters; the inverse of `as_bytes`."""
    return text.decode(errors="surrogateescape")
