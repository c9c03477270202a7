"""Word alignments from attention weights, merging of subwords into words, and the alignment error rate.

Weights have a row for each target token and a column for each source token. Links are (source word index, target word index) pairs, counted from 0.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from operator import add
from pathlib import Path

import numpy as np
import numpy.typing as npt

from joined_words import SPACE_MARK, shown
from seq2seq.common.errors import InputError
from seq2seq.common.progress import counted
from seq2seq.data.text import read_links
from seq2seq.data.vocabulary import BEGIN, END, PADDING

Links = frozenset[tuple[int, int]]
Words = Collection[int]
Floats = npt.NDArray[np.float64]

UNWORDED = frozenset({BEGIN, END, PADDING})
"""Tokens that are part of no word. (``<unk>`` stands for a word.)"""

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
"""A byte token of SentencePiece, for a character that is not in its vocabulary."""


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """A gold alignment of a sentence pair.

    Attributes:
        sure: Links that an alignment must have.
        possible: Links that it may have, the sure ones included (Och and Ney 2003).
    """

    sure: Links
    possible: Links

    @classmethod
    def from_links(
        cls, links: Sequence[tuple[int, int]], only_possible: Sequence[tuple[int, int]] = ()
    ) -> "GoldAlignment":
        """Make a gold alignment from all links, and those of them that are possible only."""
        return cls(frozenset(links) - frozenset(only_possible), frozenset(links))


@dataclass(frozen=True, slots=True)
class AlignmentCounts:
    """Counts of links over one or more sentence pairs; they can be added.

    Attributes:
        num_links: |A|, links found.
        num_sure: |S|, sure links of the gold alignment.
        num_found_sure: |A ∩ S|.
        num_found_possible: |A ∩ P|.
    """

    num_links: int = 0
    num_sure: int = 0
    num_found_sure: int = 0
    num_found_possible: int = 0

    @classmethod
    def of(cls, links: Links, gold: GoldAlignment) -> "AlignmentCounts":
        """Count the links of a sentence pair against the gold alignment."""
        return cls(len(links), len(gold.sure), len(links & gold.sure), len(links & gold.possible))

    def __add__(self, other: "AlignmentCounts") -> "AlignmentCounts":
        return AlignmentCounts(*map(add, astuple(self), astuple(other)))

    @property
    def precision(self) -> float:
        """Precision |A ∩ P| / |A|; 1 if no link is found."""
        return self.num_found_possible / self.num_links if self.num_links else 1.0

    @property
    def recall(self) -> float:
        """Recall |A ∩ S| / |S|; 1 if there are no sure links."""
        return self.num_found_sure / self.num_sure if self.num_sure else 1.0

    @property
    def error_rate(self) -> float:
        """Alignment error rate 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|) of Och and Ney (2003); 0 is perfect."""
        total = self.num_links + self.num_sure
        return 1 - (self.num_found_sure + self.num_found_possible) / total if total else 0.0

    def metrics(self) -> dict[str, float]:
        """Return AER, precision and recall by name."""
        return {"aer": self.error_rate, "precision": self.precision, "recall": self.recall}


def argmax_links(weights: npt.ArrayLike) -> Links:
    """Link each target word to the source word that it attends to most.

    A row of zeros is a word of no token (see `merge_words`); it gets no link.
    """
    matrix = np.asarray(weights)
    if not matrix.shape[1]:
        return frozenset()
    rows = np.flatnonzero(matrix.any(axis=1)).tolist()
    return frozenset(zip(matrix[rows].argmax(axis=1).tolist(), rows, strict=True))


def word_indices(tokens: Sequence[str], words: Sequence[str] | None = None) -> list[range]:
    """Return the indices of the words that each token has a part of: more than one if it crosses a border.

    Indices count from 0; special tokens such as ``<eos>`` have none. Tokens are searched in the words one after
    another, also in lower case; characters that the tokenizer drops, such as the quotes of ``basic_english``,
    are skipped.

    Args:
        tokens: Words or SentencePiece pieces, as a tokenizer returns them.
        words: The words of the same text, in the same case. None: words between white space if the tokens are
            pieces, else the tokens themselves.

    Raises:
        ValueError: The tokens do not spell the words. An ``<unk>`` matches only itself.
    """
    given = _own_words(tokens) if words is None else words
    if not given:
        return [range(0)] * len(tokens)
    spelled = [
        b"" if token in UNWORDED else without_spaces(text)
        for token, text in zip(tokens, token_bytes(tokens), strict=True)
    ]
    for cased in (given, [word.lower() for word in given]):
        parts = [without_spaces(as_bytes(word)) for word in cased]
        starts = token_offsets(spelled, b"".join(parts))
        if starts is not None:
            break
    else:
        raise ValueError(f"the tokens {' '.join(tokens)} do not spell {' '.join(given)}")
    ends = np.cumsum([len(part) for part in parts])
    lasts = [start + max(len(token) - 1, 0) for start, token in zip(starts, spelled, strict=True)]
    # a blank piece after the last word counts as part of it
    numbers = np.minimum(np.searchsorted(ends, [starts, lasts], side="right"), len(ends) - 1).tolist()
    return [
        range(0) if token in UNWORDED else range(first, last + 1)
        for token, first, last in zip(tokens, *numbers, strict=True)
    ]


def _own_words(tokens: Sequence[str]) -> list[str]:
    kept = [token for token in tokens if token not in UNWORDED]
    if not kept or not kept[0].startswith(SPACE_MARK):
        return [shown(token, " ") for token in kept]
    return as_text(b"".join(token_bytes(kept))).split()


# --- positions of tokens in a text, in bytes of UTF-8, because a piece may be part of a character ---


def token_bytes(tokens: Sequence[str]) -> list[bytes]:
    """Return the bytes of tokens, with spaces; byte tokens such as <0xE2> become one byte each."""
    found: list[bytes] = []
    for are_bytes, run in groupby(tokens, lambda token: _BYTE.fullmatch(token) is not None):
        if not are_bytes:
            found += (as_bytes(shown(token, " ")) for token in run)
            continue
        for sign in as_text(bytes(int(token[3:5], 16) for token in run)):
            parts = [bytes([byte]) for byte in as_bytes(sign)]
            found += [b" "] + [b""] * (len(parts) - 1) if sign.isspace() else parts
    return found


def without_spaces(text: bytes) -> bytes:
    """Return text without white space."""
    return as_bytes("".join(as_text(text).split()))


def token_offsets(tokens: Sequence[bytes], text: bytes) -> list[int] | None:
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


def merge_words(
    weights: npt.ArrayLike, source_words: Sequence[range], target_words: Sequence[range]
) -> Floats:
    """Merge weights between tokens into weights between words.

    The columns of a source word's tokens are summed, the rows of a target word's tokens averaged, so that the
    sum of a row is kept: a source token of several words has an equal share of its weight in each, a target token
    its row. Tokens without a word are left out; a word without a token has zeros.

    Args:
        weights: (target tokens, source tokens); further rows and columns are ignored.
        source_words: The indices of the words of each source token, see `word_indices`.
        target_words: The same of each target token.

    Returns:
        Weights (target words, source words).
    """
    matrix = np.asarray(weights, dtype=np.float64)[: len(target_words), : len(source_words)]
    sources, targets = _membership(source_words), _membership(target_words)
    shares = sources / np.maximum(sources.sum(axis=0), 1)
    return targets @ matrix @ shares.T / np.maximum(targets.sum(axis=1, keepdims=True), 1)


def _membership(words: Sequence[range]) -> Floats:
    """Return a matrix (words, tokens): 1 where the token has a part of the word."""
    found = np.zeros((max((each.stop for each in words), default=0), len(words)))
    for token, each in enumerate(words):
        found[each.start : each.stop, token] = 1
    return found


# --- the Pharaoh format: a line for each sentence pair, with links i-j, or i?j and ipj where only possible ---


def format_links(links: Links) -> str:
    """Return links as a sorted line, without the line end."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def read_pharaoh(path: Path) -> list[GoldAlignment]:
    """Read a file of alignments, plain or compressed.

    Raises:
        InputError: The file cannot be read, or a line holds something else.
    """
    return [GoldAlignment.from_links(*links) for links in read_links(path)]


def require_within(gold: GoldAlignment, num_source: int, num_target: int, where: str) -> GoldAlignment:
    """Return the alignment if all its words exist.

    Raises:
        InputError: A link is of a word beyond the end of the sentence.
    """
    for source, target in sorted(gold.possible):
        if source >= num_source or target >= num_target:
            raise InputError(
                f"{where}: link {source}-{target} is outside the sentence pair of {num_source} and "
                f"{counted(num_target, 'word')}: count words between white space, and letters of Chinese and Japanese, from 0"
            )
    return gold
