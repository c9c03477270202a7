"""Kernel regression: the oldest attention there is, on numbers instead of words.

    f(x) = sum over i of K(x - x_i) y_i / sum over i of K(x - x_i)

Nadaraya, "On estimating regression", 1964; Watson, "Smooth regression analysis", 1964. The query
is the place x where a value is wanted, the keys are the places x_i where one was measured, the
values are the measurements y_i. With the Gaussian kernel K(u) = exp(-(u w)^2 / 2) the weights are
a softmax of `seq2seq.attention.scores.GaussianScore`; with a constant kernel they are all equal.

Shapes: N measurements, Q queries. Inputs and outputs have no unit; the inverse width w has that
of one over an input. All numbers are float64: there are few of them, and they can then be compared
with the formula to the last digits.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seq2seq.attention.pooling import AttentionPooling, AveragePooling
from seq2seq.attention.scores import GaussianScore

DOMAIN_END = 5.0
"""Inputs lie in [0, 5)."""

TRAINING_COUNT = 50
TEST_COUNT = 50
NOISE = 0.5
"""Standard deviation of a measurement around the truth."""

LEARNING_RATE = 0.5
LEARNING_STEPS = 300


@dataclass(frozen=True)
class Points:
    """Places and the values there.

    Attributes:
        inputs: x, ascending.
        outputs: y, measured or true.
    """

    inputs: Tensor
    outputs: Tensor


@dataclass(frozen=True)
class Estimate:
    """What one estimator makes of the training points.

    Attributes:
        name: the estimator.
        predictions: f(x) at each test input.
        weights: how much each training point contributes, one row for each test input, one column
            for each training point; rows sum to one.
        test_error: mean squared error of the predictions against the noise-free truth.
        inverse_width: w of the kernel; None where there is no kernel.
    """

    name: str
    predictions: Tensor
    weights: Tensor
    test_error: float
    inverse_width: float | None = None


def truth(inputs: Tensor) -> Tensor:
    """The function to be found: 2 sin x + x^0.8."""
    return 2 * inputs.sin() + inputs**0.8


def training_points(seed: int) -> Points:
    """Measurements y = 2 sin x + x^0.8 + noise at random places.

    Args:
        seed: decides the places, uniform in [0, 5), and the noise, normal with deviation 0.5.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(TRAINING_COUNT, generator=generator, dtype=torch.float64)
    inputs, _ = (DOMAIN_END * drawn).sort()
    noise = torch.randn(TRAINING_COUNT, generator=generator, dtype=torch.float64)
    return Points(inputs, truth(inputs) + NOISE * noise)


def true_points() -> Points:
    """The noise-free truth at x = 0, 0.1, ..., 4.9."""
    inputs = torch.arange(TEST_COUNT, dtype=torch.float64) * (DOMAIN_END / TEST_COUNT)
    return Points(inputs, truth(inputs))


def pooled(
    attention: nn.Module,
    queries: Tensor,
    points: Points,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Regression is pooling: queries x, keys x_i, values y_i.

    Args:
        attention: `AttentionPooling` or `AveragePooling`.
        queries: where values are wanted.
        points: where values were measured.
        mask: True where a query may look at a point; None for everywhere.

    Returns:
        The predictions and the weights they come from.
    """
    column = (1, -1, 1)
    context, weights = attention(
        queries.view(column), points.inputs.view(column), points.outputs.view(column), mask=mask
    )
    return context.flatten(), weights.squeeze(0)


def leave_one_out(attention: nn.Module, points: Points) -> Tensor:
    """Each point predicted from all the others.

        f(x_i) = sum over j != i of K(x_i - x_j) y_j / sum over j != i of K(x_i - x_j)

    A point that may look at itself is predicted best by an infinitely narrow kernel, which sees
    nothing else; the error of these predictions is smallest at a width that is good for new points.
    """
    others = ~torch.eye(len(points.inputs), dtype=torch.bool)
    predictions, _ = pooled(attention, points.inputs, points, others)
    return predictions


def learned_kernel(points: Points) -> GaussianScore:
    """The Gaussian kernel whose width predicts each point best from the others.

    Starts at w = 1 and follows the gradient of the mean squared leave-one-out error with Adam;
    nothing is random.
    """
    score = GaussianScore(inverse_width=1.0, learnable=True)
    attention = AttentionPooling(score)
    optimiser = torch.optim.Adam(score.parameters(), lr=LEARNING_RATE)
    for _ in range(LEARNING_STEPS):
        optimiser.zero_grad()
        error = mean_squared_error(leave_one_out(attention, points), points.outputs)
        error.backward()
        optimiser.step()
    return score


def mean_squared_error(predictions: Tensor, outputs: Tensor) -> Tensor:
    """Mean of (f(x_i) - y_i)^2."""
    return (predictions - outputs).square().mean()


def compare(training: Points, test: Points) -> list[Estimate]:
    """The three estimators on the same points: average, fixed kernel, learned kernel.

    Args:
        training: noisy measurements.
        test: the truth, at the places where it is to be estimated.
    """
    return list(_estimates(training, test))


def _estimates(training: Points, test: Points) -> Iterator[Estimate]:
    yield _estimate("average", AveragePooling(), training, test)
    fixed = GaussianScore(inverse_width=1.0)
    yield _estimate("Gaussian kernel", AttentionPooling(fixed), training, test, 1.0)
    learned = learned_kernel(training)
    # The kernel is even: the sign says nothing.
    width = torch.as_tensor(learned.inverse_width).detach().abs().item()
    yield _estimate("learned kernel", AttentionPooling(learned), training, test, width)


@torch.no_grad()
def _estimate(
    name: str,
    attention: nn.Module,
    training: Points,
    test: Points,
    inverse_width: float | None = None,
) -> Estimate:
    predictions, weights = pooled(attention, test.inputs, training)
    error = mean_squared_error(predictions, test.outputs)
    return Estimate(name, predictions, weights, error.item(), inverse_width)
