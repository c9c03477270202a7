"""One matrix with a title and numbered axes."""

from collections.abc import Sequence
from dataclasses import dataclass

from seq2seq.pictures.colours import Floats, Pixels
from seq2seq.pictures.grid import (
    DASH,
    LABEL,
    LABEL_GREY,
    OVERHANG,
    SMALL,
    axis,
    cells,
    colour_bar,
    dash,
    margin,
    paper,
    put,
    text,
)
from seq2seq.pictures.lettering import line_height

_LENGTH = 240
_MAX_CELL = 40
_TICK_DISTANCE = 48
_TITLE_SIZE = 14
_GAP = 4
_HEAD = line_height(_TITLE_SIZE) + 6
_FOOT = DASH + line_height(SMALL) + line_height(LABEL) + 2
_SIDE = 26
"""Room for half a number beyond the end of the horizontal axis."""


@dataclass(frozen=True)
class Axis:
    """What stands along one side of a matrix: the numbers of its cells, and what they are."""

    label: str
    numbers: list[str]

    @classmethod
    def along(cls, length: int, label: str, coordinates: Sequence[float] | None) -> "Axis":
        """The axis of a side of `length` cells; without coordinates they are counted from 0.

        Raises:
            ValueError: there is not one coordinate for each cell.
        """
        if coordinates is None:
            return cls(label, list(map(str, range(length))))
        if len(coordinates) != length:
            raise ValueError(f"{len(coordinates)} {label!r} ticks for a side of {length} cells")
        return cls(label, [f"{coordinate:.3g}" for coordinate in coordinates])

    def ticks(self, cell: int) -> list[tuple[int, str]]:
        """Places along the axis, far enough apart for numbers, and the number of each."""
        steps = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
        step = next(step for step in steps if step * cell >= _TICK_DISTANCE)
        places = range(0, len(self.numbers), step)
        return [(1 + place * cell + (cell - 1) // 2, self.numbers[place]) for place in places]


def panel(shares: Floats, title: str, x_axis: Axis, y_axis: Axis) -> Pixels:
    """A matrix with its title and axes.

    `shares` are in 0..1.
    """
    size = min(_MAX_CELL, max(1, _LENGTH // max(shares.shape)))
    matrix, heading = cells(shares, size), text(title, _TITLE_SIZE)
    side = axis(y_axis.ticks(size), y_axis.label, matrix.shape[0], gap=_GAP, top=_HEAD)
    foot = _horizontal(x_axis, size, matrix.shape[1])
    left, bottom = side.shape[1], _HEAD + matrix.shape[0]
    width = max(left + heading.shape[1], left - _SIDE + foot.shape[1])
    sheet = paper(max(bottom + foot.shape[0], side.shape[0]), width)
    put(sheet, heading, 0, left)
    put(sheet, side, 0, 0)
    put(sheet, foot, bottom, left - _SIDE)
    sheet[_HEAD:bottom, left : left + matrix.shape[1]] = matrix
    return sheet


def _horizontal(of: Axis, cell: int, length: int) -> Pixels:
    """The numbers and the label below a matrix, with room for half a number at both ends."""
    label = text(of.label, LABEL, LABEL_GREY)
    room = length + 2 * _SIDE
    sheet = paper(_FOOT, max(room, label.shape[1]))
    put(sheet, label, _FOOT - label.shape[0], max(0, (room - label.shape[1]) // 2))
    for place, number in of.ticks(cell):
        block = text(number, SMALL)
        put(sheet, dash(DASH, 1), 0, _SIDE + place)
        put(sheet, block, DASH, _SIDE + place - block.shape[1] // 2)
    return sheet


def panel_bar(maximum: float) -> Pixels:
    """The colour bar beside a panel, level with its matrix."""
    return margin(colour_bar(maximum), top=_HEAD - OVERHANG, right=_SIDE)
