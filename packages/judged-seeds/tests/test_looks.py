"""A test that may be looked at after every seed, against integrals, simulations and its own definition."""

from math import inf

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from judged_seeds import e_bh, e_value, interval, judge, level_of_try, paired
from judged_seeds.looks import EFFECT, VARIANCE


@pytest.mark.parametrize("number", [2, 5, 9])
def test_e_is_the_ratio_of_two_integrated_likelihoods(number):
    x = np.random.default_rng(number).normal(0.7, 1, number)

    def likelihood(log_sigma, effect):  # with the prior 1 / sigma
        return np.exp(-number * log_sigma - 0.5 * ((x / np.exp(log_sigma) - effect) ** 2).sum())

    def prior(effect):
        return np.exp(-(effect**2) / 2 / VARIANCE) / np.sqrt(2 * np.pi * VARIANCE)

    normal, _ = dblquad(lambda s, d: likelihood(s, d) * prior(d), -12, 12, -4, 6)
    points = [quad(lambda s, d=d: likelihood(s, d), -4, 12)[0] for d in (EFFECT, -EFFECT)]
    above = normal / 2 + sum(points) / 4
    below, _ = quad(lambda s: likelihood(s, 0), -4, 12)
    assert e_value(x) == pytest.approx(above / below, rel=1e-4)


def test_the_scale_and_the_sign_do_not_matter():
    x = np.random.default_rng(1).normal(1, 1, 6)
    assert e_value(-1e6 * x) == pytest.approx(e_value(x))


def test_an_interval_has_the_means_that_are_not_rejected():
    x = np.random.default_rng(1).normal(3, 1, 7)
    low, high = interval(x, 0.05)
    assert low < x.mean() < high
    for end in (low, high):
        assert e_value(x - end) == pytest.approx(20)
    assert interval(x[:2], 0.05) == (-inf, inf)  # two seeds show nothing, whatever they are
    assert (low > 0) == judge(x).is_shown


def test_a_look_after_every_seed_finds_a_difference_in_few_studies_in_which_there_is_none():
    draws = np.random.default_rng(1).normal(size=(100, 20))
    shown = [any(e_value(x[:n]) >= 20 for n in range(2, 21)) for x in draws]
    assert np.mean(shown) < 0.05
    assert np.mean([judge(x[:8] + 2.4).is_shown for x in draws[:50]]) > 0.9


def test_equal_differences_show_nothing():
    assert e_value([0.3] * 9) == e_value([0.0] * 9) == e_value([5.0]) == 1
    assert judge([0.1 + 0.2, 0.3, 0.3]).further is None


def test_seeds_that_are_still_needed_are_those_after_which_it_is_shown():
    x = np.array([1.0, 0.2, 0.9])
    further = judge(x).further
    n = len(x) + further
    half = x.std(ddof=1)

    def of(number):  # a sample with this mean and standard deviation
        z = np.random.default_rng(1).normal(size=number)
        return x.mean() + half * (z - z.mean()) / z.std()

    assert judge(of(n)).is_shown
    assert not judge(of(n - 1)).is_shown
    assert judge([1.0, 1.1, 0.9, 1.0, 1.05]).further == 0


def test_changes_spend_the_level_together():
    assert sum(map(level_of_try, range(1, 10_000))) == pytest.approx(0.05, rel=1e-3)


def test_e_bh_by_hand():
    assert e_bh([0.01, 0.03, 0.5]) == [True, True, False]  # 2 * 0.05 / 3 = 0.033
    assert e_bh([0.02, 0.03, 0.5]) == [True, True, False]
    assert e_bh([0.02, 0.04, 0.5]) == [False, False, False]
    assert e_bh([0.01], tries=100) == [False]
    assert e_bh([]) == []


def test_results_are_paired_by_seed():
    first = [(1, 10.0), (2, 20.0), (4, 40.0)]
    assert paired(first, [(4, 41.0), (1, 11.0), (3, 31.0)]) == [(10, 11), (40, 41)]
    assert paired(first, [(7, 1.0), (8, 2.0)]) == [(10, 1), (20, 2)]
    assert paired([(None, 1.0), (None, 2.0)], [(None, 3.0), (None, 4.0)]) == [(1, 3), (2, 4)]
