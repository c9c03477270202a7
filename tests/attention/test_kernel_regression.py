"""The worked example of kernel regression: its formula, its order of merit, its learning."""

from functools import cache

import pytest
import torch

from examples.kernel_regression import (
    NOISE,
    Points,
    compare,
    learned_kernel,
    leave_one_out,
    mean_squared_error,
    training_points,
    true_points,
    truth,
)
from seq2seq.attention.other_scores import GaussianScore
from seq2seq.attention.pooling import AttentionPooling

SEEDS = range(5)


@cache
def estimates(seed):
    return compare(training_points(seed), true_points())


def closed_form(queries, points, inverse_width):
    """The sum of K(x - x_i) y_i over the sum of K(x - x_i), point by point."""
    found = []
    for query in queries.tolist():
        kernel = torch.exp(-(((query - points.inputs) * inverse_width) ** 2) / 2)
        found.append(sum(kernel * points.outputs) / sum(kernel))
    return torch.stack(found)


def leave_one_out_error(points, inverse_width):
    attention = AttentionPooling(GaussianScore(inverse_width=inverse_width))
    return mean_squared_error(leave_one_out(attention, points), points.outputs).item()


def test_training_points_are_fifty_sorted_places_with_noise_of_the_stated_deviation():
    for seed in SEEDS:
        points = training_points(seed)
        assert points.inputs.shape == points.outputs.shape == (50,)
        assert (points.inputs.diff() >= 0).all()
        assert points.inputs.min() >= 0
        assert points.inputs.max() < 5
    places = torch.arange(50, dtype=torch.float64) / 10
    torch.testing.assert_close(true_points().inputs, places)
    torch.testing.assert_close(true_points().outputs, 2 * torch.sin(places) + places.pow(0.8))
    noise = [p.outputs - truth(p.inputs) for p in map(training_points, range(100))]
    assert torch.cat(noise).std().item() == pytest.approx(NOISE, rel=0.05)
    assert torch.cat(noise).mean().item() == pytest.approx(0, abs=0.03)


def test_the_seed_decides_the_points():
    first, again, other = training_points(3), training_points(3), training_points(4)
    assert torch.equal(first.inputs, again.inputs)
    assert torch.equal(first.outputs, again.outputs)
    assert not torch.equal(first.inputs, other.inputs)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_estimate_is_what_its_kernel_and_its_weights_say(seed):
    training, test = training_points(seed), true_points()
    for estimate in estimates(seed):
        assert (estimate.weights >= 0).all()
        width = estimate.inverse_width or 0.0  # a kernel of infinite width is the average
        expected = closed_form(test.inputs, training, width)
        torch.testing.assert_close(estimate.predictions, expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(estimate.weights @ training.outputs, estimate.predictions)
        error = ((expected - test.outputs) ** 2).mean().item()
        assert estimate.test_error == pytest.approx(error, rel=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_learning_beats_the_fixed_kernel_which_beats_the_average(seed):
    average, fixed, learned = estimates(seed)
    assert [e.name for e in (average, fixed, learned)] == ["average", "Gaussian kernel", "learned kernel"]
    assert learned.test_error < fixed.test_error < average.test_error


def test_leaving_one_out_predicts_from_all_the_others():
    points = training_points(2)
    predictions = leave_one_out(AttentionPooling(GaussianScore(inverse_width=1.5)), points)
    for i in range(50):
        others = [j for j in range(50) if j != i]
        rest = Points(points.inputs[others], points.outputs[others])
        expected = closed_form(points.inputs[i : i + 1], rest, 1.5)
        torch.testing.assert_close(predictions[i : i + 1], expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_learned_width_is_a_minimum_of_the_leave_one_out_error(seed):
    points, width = training_points(seed), estimates(seed)[2].inverse_width
    least = leave_one_out_error(points, width)
    assert least < leave_one_out_error(points, 1.0)
    for factor in (0.8, 1.25):
        assert least < leave_one_out_error(points, factor * width)


def test_learning_is_deterministic_and_touches_no_random_state():
    state = torch.get_rng_state()
    widths = [learned_kernel(training_points(1)).inverse_width for _ in range(2)]
    assert torch.equal(*widths)
    assert torch.equal(torch.get_rng_state(), state)
