"""Word alignments: from attention weights, of words made of subwords, and their error rate.

Weights have a row for each target token and a column for each source token, as in `Hypothesis` and
`Unrolled`. Links are (source word index, target word index) pairs, counted from 0.
"""

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from enum import Enum
from operator import add

import numpy as np
import numpy.typing as npt

from seq2seq.data.vocabulary import BEGIN, END, PADDING, SPACE_MARK
from seq2seq.evaluation.spelling import as_bytes, as_text, letters, places, said

Links = frozenset[tuple[int, int]]
Words = Collection[int]
Floats = npt.NDArray[np.float64]

UNWORDED = frozenset({BEGIN, END, PADDING})
"""Tokens that are part of no word. (``<unk>`` stands for a word.)"""


class Symmetrisation(Enum):
    """How the links of a model and of one in the other direction are made one set."""

    intersection = "intersection"
    union = "union"


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """What annotators link.

    Attributes:
        sure: links that an alignment must have.
        possible: links that it may have, the sure ones included (Och and Ney 2003).
    """

    sure: Links
    possible: Links

    @classmethod
    def from_links(
        cls, links: Sequence[tuple[int, int]], only_possible: Sequence[tuple[int, int]] = ()
    ) -> "GoldAlignment":
        """All links, and those of them that are possible, not sure."""
        return cls(frozenset(links) - frozenset(only_possible), frozenset(links))


@dataclass(frozen=True, slots=True)
class AlignmentCounts:
    """Counts over one sentence pair or many, which add up.

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
        """Compare the links of a sentence pair with gold."""
        return cls(len(links), len(gold.sure), len(links & gold.sure), len(links & gold.possible))

    def __add__(self, other: "AlignmentCounts") -> "AlignmentCounts":
        return AlignmentCounts(*map(add, astuple(self), astuple(other)))

    @property
    def precision(self) -> float:
        """|A ∩ P| / |A|; 1 where no link is found."""
        return self.num_found_possible / self.num_links if self.num_links else 1.0

    @property
    def recall(self) -> float:
        """|A ∩ S| / |S|; 1 where there is none to find."""
        return self.num_found_sure / self.num_sure if self.num_sure else 1.0

    @property
    def error_rate(self) -> float:
        """AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|) of Och and Ney (2003); 0 is perfect."""
        total = self.num_links + self.num_sure
        return 1 - (self.num_found_sure + self.num_found_possible) / total if total else 0.0

    def metrics(self) -> dict[str, float]:
        """The three measures by name."""
        return {"aer": self.error_rate, "precision": self.precision, "recall": self.recall}


def argmax_links(weights: npt.ArrayLike) -> Links:
    """Link each target word to the source word that it attends to most.

    A row of zeros is a word without a token of its own, see `merge_words`, and has no link.
    """
    matrix = np.asarray(weights)
    if not matrix.shape[1]:
        return frozenset()
    rows = np.flatnonzero(matrix.any(axis=1)).tolist()
    return frozenset(zip(matrix[rows].argmax(axis=1).tolist(), rows, strict=True))


def threshold_links(weights: npt.ArrayLike, threshold: float) -> Links:
    """Link each target word to every source word with at least that weight."""
    rows, columns = np.nonzero(np.asarray(weights) >= threshold)
    return frozenset(zip(columns.tolist(), rows.tolist(), strict=True))


def reversed_links(links: Links) -> Links:
    """The links of a model from target to source, as links from source to target."""
    return frozenset((source, target) for target, source in links)


def symmetrised(forward: Links, backward: Links, method: Symmetrisation) -> Links:
    """The links of both directions in one set, see Och and Ney (2003).

    Args:
        forward: links of a model from source to target.
        backward: those of a model from target to source, `reversed_links` applied.
        method: only the links of both, or those of either.
    """
    return forward & backward if method is Symmetrisation.intersection else forward | backward


def links_between(links: Links, source_words: Words, target_words: Words) -> Links:
    """The links of words that have tokens of their own: all that any attention can find."""
    return frozenset((i, j) for i, j in links if i in source_words and j in target_words)


def best_links(gold: GoldAlignment, source_words: Words, target_words: Words) -> Links:
    """The `argmax_links` of an attention that knows gold: no other has a smaller AER.

    Every target word gets a sure link, or else a possible one, or else a wrong one.

    Args:
        gold: the links.
        source_words: those that have a token of their own.
        target_words: likewise.
    """
    sources = sorted(source_words)
    rows = ([(i, j) for i in sources] for j in target_words if sources)
    return frozenset(max(row, key=lambda x: (x in gold.sure, x in gold.possible)) for row in rows)


def word_indices(tokens: Sequence[str], words: Sequence[str] | None = None) -> list[int | None]:
    """Which word each token belongs to, counted from 0: the one that its first character is in.

    None for ``<eos>`` and its like. Tokens are looked for in the words one after another, in lower
    case too; signs that they leave out, such as the quotes of ``basic_english``, are passed over.

    Args:
        tokens: words, or SentencePiece's pieces, as a tokenizer gives them.
        words: the words of the same text in the same letter case, however split; None for the words
            that white space separates if the tokens are pieces, and for the tokens themselves if
            not.

    Raises:
        ValueError: the tokens do not spell the words; an ``<unk>`` spells none but itself.
    """
    given = _own_words(tokens) if words is None else words
    if not given:
        return [None] * len(tokens)
    spelt = [
        b"" if token in UNWORDED else letters(text) for token, text in zip(tokens, said(tokens), strict=True)
    ]
    for cased in (given, [word.lower() for word in given]):
        parts = [letters(as_bytes(word)) for word in cased]
        starts = places(spelt, b"".join(parts))
        if starts is not None:
            break
    else:
        raise ValueError(f"the tokens {' '.join(tokens)} do not spell {' '.join(given)}")
    ends = np.cumsum([len(part) for part in parts])
    # a blank piece after the last word counts as part of it
    numbers = np.minimum(np.searchsorted(ends, starts, side="right"), len(ends) - 1).tolist()
    return [None if token in UNWORDED else number for token, number in zip(tokens, numbers, strict=True)]


def _own_words(tokens: Sequence[str]) -> list[str]:
    kept = [token for token in tokens if token not in UNWORDED]
    if not kept or not kept[0].startswith(SPACE_MARK):
        return kept
    return as_text(b"".join(said(kept))).split()


def merge_words(
    weights: npt.ArrayLike, source_words: Sequence[int | None], target_words: Sequence[int | None]
) -> Floats:
    """Weights between words, from weights between tokens.

    The columns of a source word's tokens are summed, the rows of a target word's tokens averaged,
    so that a row keeps its mass. Tokens without a word are left out, a word in which no token
    begins has zeros.

    Args:
        weights: (target tokens, source tokens); further rows and columns are ignored.
        source_words: the word of each source token, see `word_indices`.
        target_words: the word of each target token.

    Returns:
        (target words, source words).
    """
    matrix = np.asarray(weights, dtype=np.float64)[: len(target_words), : len(source_words)]
    sums = _membership(target_words) @ matrix @ _membership(source_words).T
    sizes = _membership(target_words).sum(axis=1, keepdims=True)
    return sums / np.maximum(sizes, 1)


def _membership(words: Sequence[int | None]) -> Floats:
    """(words, tokens): 1 where the token is part of the word."""
    numbers = np.array([-1 if word is None else word for word in words], dtype=np.int64)
    num_words = int(numbers.max(initial=-1)) + 1
    return (np.arange(num_words)[:, None] == numbers).astype(np.float64)
