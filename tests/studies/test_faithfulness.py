"""Rank correlations and shares against counting by hand."""

import math

import numpy as np
import pytest

from seq2seq.studies.faithfulness import (
    CHANGES,
    EFFECT_TAU,
    Probed,
    faithfulness,
    faithfulness_table,
    kendall_tau,
)


def counted(first, second):
    """Pairs in the same order, less those in the other, by those that are not tied in either."""
    same = other = untied = also = 0
    for i in range(len(first)):
        for j in range(i):
            a, b = first[i] - first[j], second[i] - second[j]
            same, other = same + (a * b > 0), other + (a * b < 0)
            untied, also = untied + (a != 0), also + (b != 0)
    return (same - other) / math.sqrt(untied * also)


def test_tau_counts_pairs_in_the_same_order():
    assert kendall_tau(np.arange(4.0), np.array([1.0, 3.0, 2.0, 4.0])) == pytest.approx(4 / 6)
    assert kendall_tau(np.arange(5.0), -np.arange(5.0)) == pytest.approx(-1)
    generator = np.random.default_rng(1)
    for size in (2, 5, 9):
        for _ in range(20):
            one, two = generator.integers(0, 4, size), generator.random(size)
            one[:2] = 0, 1  # not all alike
            assert kendall_tau(one, two) == pytest.approx(counted(one, two))


@pytest.mark.parametrize("size", [1, 3])
def test_there_is_no_tau_where_all_are_alike(size):
    assert math.isnan(kendall_tau(np.ones(size), np.arange(size)))


def probed(words, stays, taus):
    rows = np.array([stays] * len(CHANGES), dtype=bool)
    return Probed(words, rows, np.array(taus))


def test_means_are_over_tokens_of_each_kind_and_of_all_that_have_a_number():
    sentences = [
        probed(["the", "cat"], [True, False], [0.5, math.nan]),
        probed(["a", "dog", "."], [True, True, False], [0.1, math.nan, 0.3]),
    ]
    found = faithfulness(sentences, lambda word: word in ("the", "a", "."))
    assert list(found) == ["function", "content", "all"]
    for group, (size, share, tau) in {
        "function": (3, 2 / 3, 0.3), "content": (2, 1 / 2, None), "all": (5, 3 / 5, 0.3),
    }.items():  # fmt: skip
        assert found[group]["num_tokens"] == size
        assert [found[group][name] for name in CHANGES] == pytest.approx([share] * len(CHANGES))
        assert found[group][EFFECT_TAU] == (None if tau is None else pytest.approx(tau))
    assert list(faithfulness(sentences, None)) == ["all"]
    table = faithfulness_table(found)
    assert "66.7%" in table
    assert table.splitlines()[-1].split()[-3:] == ["0.30", "-", "0.30"]
