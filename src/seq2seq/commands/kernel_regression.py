"""Kernel regression, attention's worked example: seq2seq kernel-regression

Estimates a function from 50 noisy points in three ways, each a form of attention pooling: their
average, a Gaussian kernel, and a Gaussian kernel of learned width. Prints the test errors, and
writes pictures of the estimates and of the attention weights, for TensorBoard too, where the step
is the seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.command_line.program import program_parser, run_program
from seq2seq.errors import InputError
from seq2seq.storage.writing import write_file

if TYPE_CHECKING:
    from PIL.Image import Image

    from seq2seq.attention.kernel_regression import Estimate, Points


def main() -> int:
    """Estimate, print and draw."""
    parser = program_parser(__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("runs/kernel_regression"),
        metavar="FOLDER",
        help="where to write (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="of the noisy points (default: 0)"
    )
    return run_program(parser, _compare)


def _seed(text: str) -> int:
    number = int(text) if text.isdecimal() else -1
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 to {2**32 - 1}")
    return number


def _compare(arguments: argparse.Namespace) -> int:
    output, seed = arguments.output, arguments.seed
    with _refusing(output):
        output.mkdir(parents=True, exist_ok=True)
    from seq2seq.attention.kernel_regression import (  # noqa: PLC0415 - torch, after --help
        compare,
        training_points,
        true_points,
    )

    training, test = training_points(seed), true_points()
    estimates = compare(training, test)
    pictures = {
        "curves": _curves(training, test, estimates),
        "attention": _attention(training, test, estimates),
    }
    with _refusing(output):
        _write(output, pictures, estimates, seed)
    print(f"{'estimator':<17}{'1 / width':>9}{'test error':>13}")
    for estimate in estimates:
        width = "" if estimate.inverse_width is None else f"{estimate.inverse_width:.3f}"
        print(f"{estimate.name:<17}{width:>9}{estimate.test_error:>13.4f}")
    for name in pictures:
        print(f"{name:<12}{output / f'{name}.png'}")
    print(f"look        tensorboard --logdir {output}")
    return 0


@contextmanager
def _refusing(output: Path) -> Iterator[None]:
    """Makes what the file system refuses a wrong option."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"--output {output}: {error.strerror}; name a folder that can be written"
        ) from error


def _curves(training: Points, test: Points, estimates: list[Estimate]) -> Image:
    from seq2seq.pictures import curves  # noqa: PLC0415 - pillow, after --help

    colours = (curves.ORANGE, curves.BLUE, curves.VERMILION)
    series = [
        curves.Series(
            "noisy points", training.inputs, training.outputs, curves.GREY, kind="points"
        ),
        curves.Series("truth", test.inputs, test.outputs, curves.BLACK, kind="dashes"),
    ]
    series += [
        curves.Series(
            f"{estimate.name}, error {estimate.test_error:.3f}",
            test.inputs,
            estimate.predictions,
            colour,
        )
        for estimate, colour in zip(estimates, colours, strict=True)
    ]
    title = "Kernel regression is attention pooling"
    return curves.render_curves(series, title=title, x_label="x", y_label="y")


def _attention(training: Points, test: Points, estimates: list[Estimate]) -> Image:
    from seq2seq.pictures.heatmap import render_matrices  # noqa: PLC0415 - after --help

    return render_matrices(
        [estimate.weights.numpy() for estimate in estimates],
        titles=[estimate.name for estimate in estimates],
        x_label="sorted training inputs",
        y_label="test inputs",
        x_ticks=[round(place, 1) for place in training.inputs.tolist()],
        y_ticks=test.inputs.tolist(),
    )


def _write(output: Path, pictures: dict[str, Image], estimates: list[Estimate], seed: int) -> None:
    """The pictures as files; they and the errors for TensorBoard."""
    import numpy as np  # noqa: PLC0415 - after --help
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - heavy, after --help

    from seq2seq.pictures.heatmap import png_bytes  # noqa: PLC0415

    for name, picture in pictures.items():
        write_file(output / f"{name}.png", png_bytes(picture))
    with SummaryWriter(output) as writer:
        for name, picture in pictures.items():
            pixels = np.asarray(picture.convert("RGB"))
            writer.add_image(f"kernel_regression/{name}", pixels, seed, dataformats="HWC")
        for estimate in estimates:
            tag = f"test_error/{estimate.name.replace(' ', '_')}"
            writer.add_scalar(tag, estimate.test_error, seed)
