"""Alignment by agreement, held to its formula in loops over single places."""

import math
from collections import Counter
from itertools import product

import numpy as np

from seq2seq.studies.agreement import agreed_weights

TEXTS = [
    (["The", "cat", "sleeps", "the"], ["le", "chat", "dort"]),
    (["the", "sly", "cat"], ["Le", "chat", "chat"]),
    ([], []),
    (["dog"], ["chien"]),
]


def attention(seed):
    generator = np.random.default_rng(seed)
    return [
        generator.dirichlet(np.ones(len(source)), len(target)) if source else np.zeros((0, 0))
        for source, target in TEXTS
    ]


def base(weight, text, t, j):
    source, target = text
    distance = abs(t / max(len(target) - 1, 1) - j / max(len(source) - 1, 1))
    return (weight + 0.001) ** 0.25 * math.exp(-2 * distance)


def posterior(text, ahead, behind, counts):
    """q of a pair, {(target place, source place): value}; `counts` None stands for ones."""
    source, target = text
    p, r = {}, {}
    for t, j in product(range(len(target)), range(len(source))):
        x, y = source[j].lower(), target[t].lower()
        together = counts[x, y] if counts else 1
        of_source = sum(c for (other, _), c in counts.items() if other == x) if counts else 1
        of_target = sum(c for (_, other), c in counts.items() if other == y) if counts else 1
        p[t, j] = base(ahead[t, j], text, t, j) * together / of_source
        r[t, j] = base(behind[j, t], text, t, j) * together / of_target
    return {
        (t, j): value
        / sum(other for (row, _), other in p.items() if row == t)
        * r[t, j]
        / sum(other for (_, column), other in r.items() if column == j)
        for (t, j), value in p.items()
    }


def by_loops(texts, forward, backward):
    counts = None
    for _ in range(3):
        found = [posterior(*each, counts) for each in zip(texts, forward, backward, strict=True)]
        sums = Counter()
        for (source, target), q in zip(texts, found, strict=True):
            for (t, j), value in q.items():
                sums[source[j].lower(), target[t].lower()] += value
        counts = {pair: total + 0.001 for pair, total in sums.items()}
    return found


def require_equal(found, expected):
    for matrix, (source, target), places in zip(found, TEXTS, expected, strict=True):
        assert matrix.shape == (len(target), len(source))
        wanted = np.zeros(matrix.shape)
        for place, value in places.items():
            wanted[place] = value
        np.testing.assert_allclose(matrix, wanted, rtol=1e-12, atol=0)


def test_agreement_is_its_formula():
    forward = attention(1)
    expected = by_loops(TEXTS, forward, [each.T for each in forward])
    require_equal(agreed_weights(TEXTS, forward), expected)
    assert sum(map(len, expected)) == 12 + 9 + 1


def test_words_that_go_together_elsewhere_are_linked_against_the_attention():
    alone = [(["do", "you", "sleep"], ["que", "tu", "dors"])]
    others = [([word], [other]) for word, other in zip(*alone[0], strict=True)] * 5
    # "que" looks at the word that comes next, as attention does where there is nothing to find out
    seen = np.array([[0.2, 0.7, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    (found, *_) = agreed_weights(alone + others, [seen, *[np.ones((1, 1))] * 15])
    assert found.argmax(axis=1).tolist() == [0, 1, 2]
    assert seen.argmax(axis=1).tolist() == [1, 1, 2]


def test_words_beyond_the_matrices_are_left_out_and_nothing_is_no_error():
    forward = [attention(1)[0][:, :3], *attention(1)[1:]]
    short = [(TEXTS[0][0][:3], TEXTS[0][1]), *TEXTS[1:]]
    assert all(map(np.array_equal, agreed_weights(TEXTS, forward), agreed_weights(short, forward)))
    assert agreed_weights([(["a"], ["b"])], [np.zeros((0, 0))])[0].shape == (0, 0)
