"""Word alignments from attention and from word co-occurrence in the aligned text.

Attention is diffuse for target words that are predictable from the previous word. Co-occurrence counts of words in
the text add the missing information. For target word t and source word j of a pair, with a(t, j) the attention weight
between them, T and S the numbers of words:

    b(t, j) = (a(t, j) + FLOOR)^POWER * exp(-NEARNESS * |t / (T - 1) - j / (S - 1)|)
    p(j | t) = b(t, j) c(x_j, y_t) / c(x_j), normalized over the source words
    r(t | j) = b(t, j) c(x_j, y_t) / c(y_t), normalized over the target words
    q(t, j) = p(j | t) r(t | j)

c(x, y) is SMOOTHING plus the sum of q over all positions of x and y in one pair; c(x) and c(y) are its sums.
Both fractions are 1 at first and are then computed from the counts, ROUNDS times. c(x, y) / c(x) is the lexicon of IBM
model 1 (Brown et al. 1993), the product of two directions is alignment by agreement (Liang, Taskar and Klein 2006), and
the distance from the diagonal is that of fast_align (Dyer, Chahuneau and Smith 2013). The constants were selected on
the validation pairs of the built-in corpus.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from seq2seq.evaluation.alignment import Floats

Number = TypeVar("Number", np.float64, np.int64)

FLOOR = 1e-3
POWER = 0.25
NEARNESS = 2.0
SMOOTHING = 1e-3
ROUNDS = 2


def agreed_weights(
    texts: Sequence[tuple[Sequence[str], Sequence[str]]], attention: Sequence[Floats]
) -> list[Floats]:
    """Return q of each pair (target words, source words), for `argmax_links`.

    Args:
        texts: Source and target words of the pairs, in any case; words beyond the size of a matrix are ignored.
        attention: Attention of each pair (target words, source words).
    """
    sizes, bases = [each.shape for each in attention], [*map(_base, attention)]
    sources = _numbers([x[:s] for (x, _), (_, s) in zip(texts, sizes, strict=True)])
    targets = _numbers([y[:t] for (_, y), (t, _) in zip(texts, sizes, strict=True)])
    many = 1 + max(int(each.max(initial=0)) for each in sources)
    codes = [y[:, None] * many + x for x, y in zip(sources, targets, strict=True)]
    known, places = np.unique(_flat(codes), return_inverse=True)
    ends = np.cumsum([each.size for each in codes])
    entries = [p.reshape(c.shape) for p, c in zip(np.split(places, ends), codes, strict=False)]
    of_source = of_target = np.ones(len(known))
    found: list[Floats] = []
    for _ in range(ROUNDS + 1):
        if found:
            c = SMOOTHING + np.bincount(places, _flat(found))
            of_source, of_target = (c / np.bincount(x, c)[x] for x in (known % many, known // many))
        both = [
            (each * of_source[entry], each * of_target[entry])
            for each, entry in zip(bases, entries, strict=True)
        ]
        found = [p / p.sum(axis=1, keepdims=True) * r / r.sum(axis=0, keepdims=True) for p, r in both]
    return found


def _base(weights: Floats) -> Floats:
    rows, columns = (np.arange(size) / max(size - 1, 1) for size in weights.shape)
    distance = np.abs(rows[:, None] - columns)
    return (weights + FLOOR) ** POWER * np.exp(-NEARNESS * distance)


def _flat(matrices: Sequence[npt.NDArray[Number]]) -> npt.NDArray[Number]:
    return np.concatenate([each.ravel() for each in matrices])


def _numbers(sentences: Sequence[Sequence[str]]) -> list[npt.NDArray[np.int64]]:
    """Return the words of each sentence as ids, equal for equal words."""
    known: dict[str, int] = {}
    return [
        np.array([known.setdefault(word.lower(), len(known)) for word in sentence], dtype=np.int64)
        for sentence in sentences
    ]
