"""Draw Nadaraya-Watson kernel regression, an early form of attention: python examples/kernel_regression.py

    f(x) = sum over i of K(x - x_i) y_i / sum over i of K(x - x_i)

Nadaraya, "On estimating regression", 1964; Watson, "Smooth regression analysis", 1964. The query is the input x of
the prediction, the keys are the inputs x_i of the training points, the values are their outputs y_i. With the Gaussian
kernel K(u) = exp(-(u w)^2 / 2) the weights are the softmax of `seq2seq.attention.other_scores.GaussianScore`; with a constant
kernel they are equal.

Estimates a function from 50 noisy points in three ways, each a form of attention pooling: the average, a
Gaussian kernel, and a Gaussian kernel of learned width. Prints the test errors and writes figures of the
estimates and of the attention weights, as PNG files and for TensorBoard, where the step is the seed.

Shapes: Q queries, S training points (the keys). All numbers are float64, for comparisons with the formula.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seq2seq.common.progress import announce

announce("loading PyTorch")

import torch
from torch import Tensor, nn
from torch.utils.tensorboard import SummaryWriter

from hydra_checked.program import exit_on_error
from seq2seq.attention import AttentionPooling, AveragePooling, GaussianScore
from seq2seq.settings.application import APPLICATION
from tensorboard_attention.figures import GRAY, new_figure, styled

DOMAIN_END = 5.0
"""Inputs are in [0, 5)."""

TRAINING_COUNT = 50
TEST_COUNT = 50
NOISE = 0.5
"""Standard deviation of the noise of the training outputs."""

LEARNING_RATE = 0.5
LEARNING_STEPS = 300


@dataclass(frozen=True)
class Points:
    """Points of a function.

    Attributes:
        inputs: Inputs x, ascending (S,).
        outputs: Outputs y, with or without noise (S,).
    """

    inputs: Tensor
    outputs: Tensor


@dataclass(frozen=True)
class Estimate:
    """Predictions of an estimator.

    Attributes:
        name: Name of the estimator.
        predictions: f(x) at each test input (Q,).
        weights: Weight of each training point for each test input (Q, S); rows sum to one.
        test_error: Mean squared error of the predictions against the function without noise.
        inverse_width: w of the kernel; None without a kernel.
    """

    name: str
    predictions: Tensor
    weights: Tensor
    test_error: float
    inverse_width: float | None = None


def truth(inputs: Tensor) -> Tensor:
    """Return the function to be estimated, 2 sin x + x^0.8."""
    return 2 * inputs.sin() + inputs**0.8


def training_points(seed: int) -> Points:
    """Return training points y = 2 sin x + x^0.8 + noise at random inputs.

    Args:
        seed: Seed of the inputs, uniform in [0, 5), and of the noise, normal with standard deviation 0.5.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(TRAINING_COUNT, generator=generator, dtype=torch.float64)
    inputs, _ = (DOMAIN_END * drawn).sort()
    noise = torch.randn(TRAINING_COUNT, generator=generator, dtype=torch.float64)
    return Points(inputs, truth(inputs) + NOISE * noise)


def true_points() -> Points:
    """Return the function without noise at x = 0, 0.1, ..., 4.9."""
    inputs = torch.arange(TEST_COUNT, dtype=torch.float64) * (DOMAIN_END / TEST_COUNT)
    return Points(inputs, truth(inputs))


def pooled(
    attention: nn.Module, queries: Tensor, points: Points, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute kernel regression as attention pooling: queries x, keys x_i, values y_i.

    Args:
        attention: `AttentionPooling` or `AveragePooling`.
        queries: Inputs of the predictions (Q,).
        points: Training points (S).
        mask: True on the points that a query may use (Q, S); None: all.

    Returns:
        Predictions (Q,) and weights (Q, S).
    """
    column = (1, -1, 1)
    context, weights = attention(
        queries.view(column), points.inputs.view(column), points.outputs.view(column), mask=mask
    )
    return context.flatten(), weights.squeeze(0)


def leave_one_out(attention: nn.Module, points: Points) -> Tensor:
    """Return the leave-one-out predictions: each point is predicted from all others.

        f(x_i) = sum over j != i of K(x_i - x_j) y_j / sum over j != i of K(x_i - x_j)

    If the point itself were used, an infinitely narrow kernel would give an error of zero. The leave-one-out error
    is an estimate of the error for new points.
    """
    others = ~torch.eye(len(points.inputs), dtype=torch.bool)
    predictions, _ = pooled(attention, points.inputs, points, others)
    return predictions


def learned_kernel(points: Points) -> GaussianScore:
    """Return the Gaussian kernel whose width minimizes the mean squared leave-one-out error.

    The optimizer is Adam, from w = 1; the result is deterministic.
    """
    score = GaussianScore(inverse_width=1.0, learnable=True).double()
    attention = AttentionPooling(score)
    optimizer = torch.optim.Adam(score.parameters(), lr=LEARNING_RATE)
    for _ in range(LEARNING_STEPS):
        optimizer.zero_grad()
        error = mean_squared_error(leave_one_out(attention, points), points.outputs)
        error.backward()
        optimizer.step()
    return score


def mean_squared_error(predictions: Tensor, outputs: Tensor) -> Tensor:
    """Return the mean of (f(x_i) - y_i)^2."""
    return (predictions - outputs).square().mean()


def compare(training: Points, test: Points) -> list[Estimate]:
    """Return the predictions of three estimators: average, fixed kernel, learned kernel.

    Args:
        training: Training points, with noise.
        test: Test points, without noise.
    """
    return list(_estimates(training, test))


def _estimates(training: Points, test: Points) -> Iterator[Estimate]:
    yield _estimate("average", AveragePooling(), training, test)
    fixed = GaussianScore(inverse_width=1.0)
    yield _estimate("Gaussian kernel", AttentionPooling(fixed), training, test, 1.0)
    learned = learned_kernel(training)
    # the kernel depends on w^2 only
    width = torch.as_tensor(learned.inverse_width).detach().abs().item()
    yield _estimate("learned kernel", AttentionPooling(learned), training, test, width)


@torch.no_grad()
def _estimate(
    name: str, attention: nn.Module, training: Points, test: Points, inverse_width: float | None = None
) -> Estimate:
    predictions, weights = pooled(attention, test.inputs, training)
    error = mean_squared_error(predictions, test.outputs)
    return Estimate(name, predictions, weights, error.item(), inverse_width)


def main() -> None:
    """Estimate, print and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("runs/kernel_regression"), metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=0, help="of the noisy points (default: 0)")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    training, test = training_points(options.seed), true_points()
    estimates = compare(training, test)

    with styled():
        curves = new_figure(7.5, 3.6)
        axes = curves.subplots()
        points = training.inputs.numpy(), training.outputs.numpy()
        axes.scatter(*points, s=14, color=GRAY, label="noisy points")
        axes.plot(test.inputs.numpy(), test.outputs.numpy(), "k--", label="truth")
        for estimate in estimates:
            label = f"{estimate.name}, error {estimate.test_error:.3f}"
            axes.plot(test.inputs.numpy(), estimate.predictions.numpy(), label=label)
            width = "" if estimate.inverse_width is None else f", inverse width {estimate.inverse_width:.3f}"
            print(f"{estimate.name:<16} test error {estimate.test_error:.4f}{width}")
        axes.set(title="Kernel regression is attention pooling", xlabel="input x", ylabel="output y")
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))

        weights = new_figure(10, 3.4)
        for place, (axes, estimate) in enumerate(zip(weights.subplots(1, 3), estimates, strict=True)):
            image = axes.imshow(estimate.weights.numpy(), vmin=0, aspect="auto")
            axes.set(title=estimate.name, xlabel="training point (key), by x")
            if place == 0:
                axes.set_ylabel("test point (query), by x")
            weights.colorbar(image, ax=axes, shrink=0.8)

    with SummaryWriter(options.output) as writer:
        for name, figure in (("estimates", curves), ("weights", weights)):
            path = options.output / f"{name}.png"
            figure.savefig(path)
            print(path)
            writer.add_figure(f"kernel_regression/{name}", figure, options.seed, close=False)


if __name__ == "__main__":
    with exit_on_error(APPLICATION):
        main()
