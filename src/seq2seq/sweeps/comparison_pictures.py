"""Learning curves with bands over seeds, and parallel coordinates, of compared runs."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from PIL.Image import Image

from seq2seq.experiments.comparison import Group
from seq2seq.pictures import curves
from seq2seq.pictures.parallel import ParallelAxis, render_parallel
from seq2seq.sweeps.by_length import ByLength

COLOURS = (curves.BLUE, curves.VERMILION, curves.GREEN, curves.ORANGE, curves.BLACK, curves.GREY)


def draw(groups: Sequence[Group], lengths: ByLength | None) -> dict[str, Image]:
    """The pictures by name; those for which there are no numbers are left out."""
    monitored = [run.ledger.monitor[0] for group in groups for run in group.runs]
    pictures = {}
    for metric in dict.fromkeys(["validation/bleu", "validation/loss", *monitored]):
        series = learning_curves(groups, metric)
        if series:
            label = metric.replace("/", " ")
            pictures[metric.replace("/", "_")] = curves.render_curves(
                series, x_label="epoch", y_label=label
            )
    if lengths is not None and len(lengths.lengths) > 1:
        pictures["bleu_by_length"] = curves.render_curves(
            series_by_length(lengths), x_label="words of the source", y_label="test BLEU"
        )
    axes = parallel_axes(groups)
    if len(axes) > 1:
        pictures["parallel_coordinates"] = render_parallel(axes)
    return pictures


def learning_curves(groups: Sequence[Group], metric: str) -> list[curves.Series]:
    """For each group the mean over seeds by epoch, on a band from the least to the greatest."""
    measured = []
    for group in groups:
        histories = [run.ledger.values(metric) for run in group.runs]
        epochs = sorted(set.intersection(*(set(history) for history in histories)))
        values = [[history[epoch] for epoch in epochs] for history in histories]
        measured.append((group.label, epochs, np.array(values)))
    return on_bands(measured)


def series_by_length(lengths: ByLength) -> list[curves.Series]:
    """Likewise, by the length of the sentences."""
    return on_bands([(label, lengths.lengths, each) for label, each in lengths.scores.items()])


def on_bands(measured: Sequence[tuple[str, npt.ArrayLike, NDArray]]) -> list[curves.Series]:
    """A line for each label, places and values (seeds, places), on a band over the seeds."""
    bands, lines = [], []
    for (label, places, values), colour in zip(measured, cycle(COLOURS), strict=False):
        at = np.asarray(places)
        if not len(at):
            continue
        lines.append(curves.Series(label, at, values.mean(axis=0), colour))
        if len(values) > 1:
            outline = np.concatenate([values.max(axis=0), values.min(axis=0)[::-1]])
            around = np.concatenate([at, at[::-1]])
            bands.append(curves.Series("", around, outline, curves.pale(colour), kind="area"))
    return [*lines, *bands]


def parallel_axes(groups: Sequence[Group]) -> list[ParallelAxis]:
    """An axis for each key that sets groups apart, one for test BLEU; a line for each run."""
    runs = [(group, run) for group in groups for run in group.runs]
    keys = list(dict.fromkeys(key for group in groups for key in group.values))
    axes = [ParallelAxis(key, [group.values.get(key) for group, _ in runs]) for key in keys]
    scores = [run.score("test", "bleu") or run.score("validation", "bleu") for _, run in runs]
    return [*axes, ParallelAxis("BLEU", scores)]
