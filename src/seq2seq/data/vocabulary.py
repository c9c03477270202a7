"""The special tokens and their ids, the first four of every vocabulary; its size, and tokens by the names of words."""

from collections.abc import Sequence

from joined_words import shown

UNKNOWN, PADDING, BEGIN, END = "<unk>", "<pad>", "<bos>", "<eos>"
SPECIALS = (UNKNOWN, PADDING, BEGIN, END)
UNKNOWN_ID, PADDING_ID, BEGIN_ID, END_ID = range(4)

REFERENCE_PAIRS, REFERENCE_PIECES = 29_000, 8_000
"""Those of Multi30k, where they were measured."""

MAX_PIECES = 16_000
"""Bound for larger corpora: the output layer is most of a step already."""


def vocabulary_size(num_sentences: int) -> int:
    """Return the number of subwords for so many training sentences of both languages.

    With n pairs 8,000 (n / 29,000)^0.4, in thousands: the exponent is near that of the number of different
    words in a text of n (Heaps 1978).
    """
    thousands = REFERENCE_PIECES * (num_sentences / 2 / REFERENCE_PAIRS) ** 0.4 / 1_000
    return min(1_000 * max(1, round(thousands)), MAX_PIECES)


def ids_by_name(tokens: Sequence[str]) -> dict[str, list[int]]:
    """Return the ids of the tokens that each name may give a vector to: the token, or the word without its marks."""
    found: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        for name in {token, shown(token, "")} - {""}:
            found.setdefault(name, []).append(index)
    return found
