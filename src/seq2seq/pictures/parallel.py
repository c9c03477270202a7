"""Parallel coordinates: an axis for each value of a run, and a line for each run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from seq2seq.pictures import grid
from seq2seq.pictures.colours import PALETTE, levels

HEIGHT = 320
DISTANCE = 210
_HEAD = 40
_MARGIN = 90
_SUPERSAMPLING = 4
_LABEL = 13
_GAP = 6
_PITCH = 15


@dataclass(frozen=True)
class ParallelAxis:
    """One axis.

    Attributes:
        name: what stands above it.
        values: of each run: numbers, or anything else, which is taken by name; None for none.
    """

    name: str
    values: Sequence[Any]

    def shares(self) -> list[float]:
        """Where each value lies, from 0 at the foot to 1 at the top."""
        if self._is_numeric():
            numbers = [float(value) for value in self.values]
            low, high = min(numbers), max(numbers)
            return [(n - low) / (high - low) if high > low else 0.5 for n in numbers]
        names = self._names()
        last = max(1, len(names) - 1)
        return [names.index(str(value)) / last if len(names) > 1 else 0.5 for value in self.values]

    def labels(self) -> list[tuple[float, str]]:
        """What stands beside the axis, and where: the ends, and what has room between them."""
        if self._is_numeric():
            texts = [f"{float(value):.4g}" for value in self.values]
        else:
            texts = [str(value) for value in self.values]
        labels = sorted(zip(self.shares(), texts, strict=True))
        kept = labels[:1]
        for place, text in labels[1:-1]:
            if min(place - kept[-1][0], labels[-1][0] - place) * HEIGHT >= _PITCH:
                kept.append((place, text))
        return kept if labels[-1][0] == kept[-1][0] else [*kept, labels[-1]]

    def _is_numeric(self) -> bool:
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)

    def _names(self) -> list[str]:
        return sorted({str(value) for value in self.values})


def render_parallel(axes: Sequence[ParallelAxis]) -> Image.Image:
    """Draw a line for each run through its values; the darker, the greater its last value.

    Raises:
        ValueError: there are no two axes, or they differ in their number of values.
    """
    if len(axes) < 2 or len({len(axis.values) for axis in axes}) != 1:
        raise ValueError("parallel coordinates need two axes with a value for each run")
    width = (len(axes) - 1) * DISTANCE + 2 * _MARGIN
    sheet = grid.paper(HEIGHT + 2 * _HEAD, width)
    for place, axis in enumerate(axes):
        _put_axis(sheet, axis, _MARGIN + place * DISTANCE)
    image = grid.picture(sheet).convert("RGB")
    shares = np.array([axis.shares() for axis in axes]).T
    for line in sorted(shares.tolist(), key=lambda line: line[-1]):
        _draw_line(image, line)
    return image


def _put_axis(sheet: np.ndarray, axis: ParallelAxis, column: int) -> None:
    grid.put(sheet, grid.dash(HEIGHT + 1, 1), _HEAD, column)
    name = grid.text(axis.name, _LABEL)
    grid.put(sheet, name, 0, column - name.shape[1] // 2)
    for share, text in axis.labels():
        row = _HEAD + round((1 - share) * HEIGHT)
        grid.put(sheet, grid.dash(1, grid.DASH), row, column)
        label = grid.text(text, grid.SMALL)
        grid.put(sheet, label, row - label.shape[0] // 2, column + _GAP)


def _draw_line(image: Image.Image, shares: Sequence[float]) -> None:
    large = Image.new("L", (image.width * _SUPERSAMPLING, image.height * _SUPERSAMPLING))
    places = [
        (
            (grid.EDGE + _MARGIN + i * DISTANCE + 0.5) * _SUPERSAMPLING,
            (grid.EDGE + _HEAD + (1 - share) * HEIGHT + 0.5) * _SUPERSAMPLING,
        )
        for i, share in enumerate(shares)
    ]
    ImageDraw.Draw(large).line(places, fill=255, width=2 * _SUPERSAMPLING, joint="curve")
    colour = PALETTE[int(levels(np.array([0.25 + 0.75 * shares[-1]]))[0])]
    image.paste(tuple(colour.tolist()), (0, 0), large.reduce(_SUPERSAMPLING))
