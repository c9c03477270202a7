"""The special tokens and their ids, the first four of every vocabulary."""

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
