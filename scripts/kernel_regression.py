"""Draw Nadaraya-Watson kernel regression, the origin of attention pooling: python scripts/kernel_regression.py

Estimates a function from 50 noisy points in three ways, each a form of attention pooling: the average, a
Gaussian kernel, and a Gaussian kernel of learned width. Prints the test errors and writes figures of the
estimates and of the attention weights, as PNG files and for TensorBoard, where the step is the seed.
"""

import argparse
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from seq2seq.attention.kernel_regression import compare, training_points, true_points
from seq2seq.run.messages import exit_on_error
from seq2seq.visualization.style import GRAY, new_figure, styled


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
    with exit_on_error():
        main()
