"""Links between words from attention weights.

Weights have a row for each target token and a column for each source token.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from joined_words import LinkSet

Floats = npt.NDArray[np.float64]


def argmax_links(weights: npt.ArrayLike) -> LinkSet:
    """Link each target word to the source word that it attends to most.

    A row of zeros is a word of no token (see `merge_words`); it gets no link.
    """
    matrix = np.asarray(weights)
    if not matrix.shape[1]:
        return frozenset()
    rows = np.flatnonzero(matrix.any(axis=1)).tolist()
    return frozenset(zip(matrix[rows].argmax(axis=1).tolist(), rows, strict=True))


def merge_words(
    weights: npt.ArrayLike, source_words: Sequence[range], target_words: Sequence[range]
) -> Floats:
    """Merge weights between tokens into weights between words.

    The columns of a source word's tokens are summed, the rows of a target word's tokens averaged, so that the
    sum of a row is kept: a source token of several words has an equal share of its weight in each, a target token
    its row. Tokens without a word are left out; a word without a token has zeros.

    Args:
        weights: (target tokens, source tokens); further rows and columns are ignored.
        source_words: The indices of the words of each source token, see `joined_words.word_indices`.
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
