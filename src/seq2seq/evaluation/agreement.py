"""Word alignments by the attention of a model and by what the aligned text itself says of words.

Attention knows the sentence, but looks nowhere in particular for a word that follows from the one
before it. Which words go together can be counted in the text. For target word t and source word j
of a pair, with a(t, j) the attention between them, T and S the numbers of words:

    b(t, j) = (a(t, j) + FLOOR)^POWER * exp(-NEARNESS * |t / (T - 1) - j / (S - 1)|)
    p(j | t) = b(t, j) c(x_j, y_t) / c(x_j), made a distribution over the source words
    r(t | j) = b(t, j) c(x_j, y_t) / c(y_t), made a distribution over the target words
    q(t, j) = p(j | t) r(t | j)

c(x, y) is SMOOTHING and the sum of q over all places where x and y stand in one pair; c(x) and c(y)
are its sums. At first both fractions are 1; then they are counted, ROUNDS times. c(x, y) / c(x) is
the lexicon of IBM model 1 (Brown et al. 1993), the product of two directions is alignment by
agreement (Liang, Taskar and Klein 2006), the distance from the diagonal that of fast_align (Dyer,
Chahuneau and Smith 2013). The constants were chosen on the validation pairs of the built-in corpus.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from seq2seq.evaluation.alignment import Floats

Integers = npt.NDArray[np.int64]
Words = Sequence[str | None]
"""The words of a sentence; None for one that is not to be linked."""

FLOOR = 1e-3
POWER = 0.25
NEARNESS = 2.0
SMOOTHING = 1e-3
ROUNDS = 2


def agreed_weights(
    texts: Sequence[tuple[Words, Words]],
    forward: Sequence[Floats],
    backward: Sequence[Floats] | None = None,
) -> list[Floats]:
    """The q of each pair, for `argmax_links`; zero where a word is not to be linked.

    Args:
        texts: source and target words of the pairs.
        forward: attention between them (target words, source words).
        backward: that of a model of the other direction (source words, target words), which r is
            then made of; None for the same.
    """
    places = _Places(texts)
    ahead = places.values(forward)
    behind = ahead if backward is None else places.values([each.T for each in backward])

    def agreed(of_source: Floats, of_target: Floats) -> Floats:
        p, r = _shares(ahead * of_source, places.rows), _shares(behind * of_target, places.columns)
        return p * r

    q = agreed(np.ones(len(ahead)), np.ones(len(ahead)))
    for _ in range(ROUNDS):
        q = agreed(*places.lexicon(q))
    return places.matrices(q)


class _Places:
    """The places (t, j) of all pairs, one after another, without words that are not to be linked.

    Attributes:
        rows: the number of each place's target word among those of all pairs.
        columns: that of its source word.
    """

    def __init__(self, texts: Sequence[tuple[Words, Words]]) -> None:
        self._shapes = [(len(target), len(source)) for source, target in texts]
        self._cells = [_cells(*text) for text in texts]
        self.rows, self.columns = (
            _joined([cell[side] for cell in self._cells], [shape[side] for shape in self._shapes])
            for side in (0, 1)
        )
        sources, targets = (_numbers([text[side] for text in texts]) for side in (0, 1))
        codes = targets[self.rows] * (len(sources) + 1) + sources[self.columns]
        entries, self._entries = np.unique(codes, return_inverse=True)
        self._targets, self._sources = np.divmod(entries, len(sources) + 1)

    def values(self, matrices: Sequence[Floats]) -> Floats:
        """The b at every place."""
        parts = [_base(each)[cell] for each, cell in zip(matrices, self._cells, strict=True)]
        return np.concatenate([np.zeros(0), *parts])

    def lexicon(self, q: Floats) -> tuple[Floats, Floats]:
        """c(x, y) / c(x) and c(x, y) / c(y) at every place."""
        counts = np.bincount(self._entries, q) + np.float64(SMOOTHING)
        shares = _shares(counts, self._sources), _shares(counts, self._targets)
        return shares[0][self._entries], shares[1][self._entries]

    def matrices(self, q: Floats) -> list[Floats]:
        """The q of each pair (target words, source words)."""
        ends = np.cumsum([len(rows) for rows, _ in self._cells], dtype=np.int64)
        found = [np.zeros(shape) for shape in self._shapes]
        for matrix, cell, part in zip(found, self._cells, np.split(q, ends)[:-1], strict=True):
            matrix[cell] = part
        return found


def _cells(source: Words, target: Words) -> tuple[Integers, Integers]:
    """Rows and columns of the places of a pair."""
    columns, rows = (
        np.array([place for place, word in enumerate(side) if word is not None], dtype=np.int64)
        for side in (source, target)
    )
    return rows.repeat(len(columns)), np.tile(columns, len(rows))


def _base(weights: Floats) -> Floats:
    rows, columns = (np.arange(size) / max(size - 1, 1) for size in weights.shape)
    distance = np.abs(rows[:, None] - columns)
    return (weights + FLOOR) ** POWER * np.exp(-NEARNESS * distance)


def _shares(values: Floats, groups: Integers) -> Floats:
    """Each value's share of the sum of its group."""
    return values / np.bincount(groups, values)[groups]


def _joined(parts: Sequence[Integers], sizes: Sequence[int]) -> Integers:
    """Numbers of things of each pair, made numbers of things of all pairs."""
    starts = np.cumsum([0, *sizes])
    return np.concatenate(
        [np.zeros(0, np.int64), *(part + start for part, start in zip(parts, starts, strict=False))]
    )


def _numbers(sentences: Sequence[Words]) -> Integers:
    """A number for each word of all sentences, the same for the same word in any letter case."""
    known: dict[str | None, int] = {}
    words = (word and word.lower() for sentence in sentences for word in sentence)
    return np.array([known.setdefault(word, len(known)) for word in words], dtype=np.int64)
