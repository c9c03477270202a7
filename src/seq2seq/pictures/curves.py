"""Pictures of functions: lines and points over numbered axes, with a legend.

Pure functions: the same numbers give the same picture on the same machine. Lettering, axes and
paper are those of `seq2seq.pictures.grid`; lines and points are drawn several times as large
and reduced, so that they are smooth at 100 %.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from seq2seq.pictures import grid
from seq2seq.pictures.colours import Floats, Pixels, ink
from seq2seq.pictures.lettering import line_height

Colour = tuple[int, int, int]

# Colours that colour-blind people can tell apart: Okabe and Ito, "Color universal design", 2008.
BLACK: Colour = (0x1A, 0x1A, 0x1A)
GREY: Colour = (0x8C, 0x8C, 0x8C)
ORANGE: Colour = (0xE6, 0x9F, 0x00)
BLUE: Colour = (0x00, 0x72, 0xB2)
GREEN: Colour = (0x00, 0x9E, 0x73)
VERMILION: Colour = (0xD5, 0x5E, 0x00)

WIDTH = 600
HEIGHT = 380
"""Pixels between the axes, where nothing else is said."""

_SUPERSAMPLING = 8
_LINE_WIDTH = 2.25
_POINT_RADIUS = 3.0
_DASH, _DASH_GAP = 7.0, 5.0
_PALENESS = 0.22
_AIR = 0.03
"""Share of the plot that stays free around the data."""
_TICK_DISTANCE = 70
_TICK_DISTANCE_UPWARDS = 45
_TITLE_SIZE = 15
_GAP = 6
_SAMPLE_WIDTH = 28
_LEGEND_PITCH = 22


@dataclass(frozen=True)
class Series:
    """One line, or one set of points.

    Attributes:
        name: what the legend says.
        x: coordinates, finite.
        y: as many, finite.
        colour: 8-bit sRGB.
        kind: a line through the coordinates in their order, whole or in dashes, points, or the
            area within them.
    """

    name: str
    x: npt.ArrayLike
    y: npt.ArrayLike
    colour: Colour = BLACK
    kind: Literal["line", "dashes", "points", "area"] = "line"

    def coordinates(self) -> Floats:
        """The places, one row (x, y) for each.

        Raises:
            ValueError: they differ in number, there are none, or one is not finite.
        """
        x, y = np.asarray(self.x, dtype=np.float64), np.asarray(self.y, dtype=np.float64)
        if x.ndim != 1 or x.shape != y.shape or not x.size:
            raise ValueError(f"series {self.name!r} has x of shape {x.shape}, y of {y.shape}")
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise ValueError(f"series {self.name!r} holds numbers that are not finite")
        return np.stack([x, y], axis=1)


@dataclass(frozen=True)
class Scale:
    """Where numbers lie along an axis of `length` pixels; the axis of y runs upwards."""

    low: float
    high: float
    length: int
    upwards: bool = False

    @classmethod
    def around(cls, numbers: Floats, length: int, *, upwards: bool = False) -> "Scale":
        """The scale that shows all numbers, with some air."""
        low, high = float(numbers.min()), float(numbers.max())
        air = _AIR * (high - low) or _AIR * abs(high) or 1.0
        return cls(low - air, high + air, length, upwards)

    def places(self, numbers: npt.ArrayLike) -> Floats:
        """Pixels from the left, or from the top."""
        share = (np.asarray(numbers, dtype=np.float64) - self.low) / (self.high - self.low)
        return (1 - share if self.upwards else share) * (self.length - 1)

    def ticks(self) -> list[tuple[int, str]]:
        """Round numbers, far enough apart, each with its place."""
        distance = _TICK_DISTANCE_UPWARDS if self.upwards else _TICK_DISTANCE
        least = (self.high - self.low) * distance / self.length
        power = 10.0 ** floor(log10(least))
        step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least)
        counts = range(ceil(self.low / step), floor(self.high / step) + 1)
        decimals = max(0, -floor(log10(step)))
        return [(round(float(self.places(n * step))), f"{n * step:.{decimals}f}") for n in counts]


def pale(colour: Colour) -> Colour:
    """A colour for an area behind a line of this one."""
    red, green, blue = (255 - round(_PALENESS * (255 - part)) for part in colour)
    return red, green, blue


def render_curves(
    series: Sequence[Series], *, title: str = "", x_label: str, y_label: str, height: int = HEIGHT
) -> Image.Image:
    """Draw functions of one variable, in a field of so many pixels in height.

    The last series lies on top of all but areas, which lie below. The first one leads the legend,
    where areas do not appear.

    Raises:
        ValueError: there is no series, or one has unfit coordinates.
    """
    if not series:
        raise ValueError("a picture of curves needs at least one series")
    every = np.concatenate([each.coordinates() for each in series])
    x_scale = Scale.around(every[:, 0], WIDTH)
    y_scale = Scale.around(every[:, 1], height, upwards=True)
    side = grid.axis(y_scale.ticks(), y_label, height, gap=_GAP)
    head = _head(title, side.shape[1])
    body = grid.above(_plot(x_scale, y_scale), _foot(x_scale, x_label))
    series = sorted(series, key=lambda each: each.kind != "area")
    num_areas = sum(each.kind == "area" for each in series)
    legend = _legend([each.name for each in series[num_areas:]])
    sheet = grid.above(head, grid.beside(side, body, legend))
    left, top = grid.EDGE + side.shape[1], grid.EDGE + head.shape[0]
    image = grid.picture(sheet).convert("RGB")
    for place, each in enumerate(series, start=-num_areas):
        pairs = each.coordinates()
        x, y = x_scale.places(pairs[:, 0]), y_scale.places(pairs[:, 1])
        _draw(image, each, np.stack([left + x, top + y], axis=1))
        if place >= 0:
            _draw(image, each, _sample(each, left + body.shape[1], top, place))
    return image


def _plot(x_scale: Scale, y_scale: Scale) -> Pixels:
    """The framed field, with faint lines at the ticks."""
    sheet = grid.paper(y_scale.length, WIDTH)
    sheet[:, [place for place, _ in x_scale.ticks()]] = ink(255, grid.SEPARATOR)
    sheet[[place for place, _ in y_scale.ticks()]] = ink(255, grid.SEPARATOR)
    sheet[[0, -1]] = sheet[:, [0, -1]] = ink(255, grid.FRAME)
    return sheet


def _head(title: str, left: int) -> Pixels:
    """The title above the field, or at least room for half a number of the vertical axis."""
    if not title:
        return grid.paper(grid.OVERHANG, 1)
    return grid.margin(grid.text(title, _TITLE_SIZE), left=left, bottom=2 * _GAP)


def _foot(scale: Scale, label: str) -> Pixels:
    name = grid.text(label, grid.LABEL, grid.LABEL_GREY)
    numbers = grid.paper(grid.DASH + line_height(grid.SMALL) + _GAP // 2, WIDTH)
    for place, number in scale.ticks():
        block = grid.text(number, grid.SMALL)
        grid.put(numbers, grid.dash(grid.DASH, 1), 0, place)
        left = min(place - block.shape[1] // 2, WIDTH - block.shape[1])
        grid.put(numbers, block, grid.DASH, left)
    return grid.above(numbers, name, across=grid.CENTRE)


def _legend(names: Sequence[str]) -> Pixels:
    """The names; samples of the lines are drawn on the paper left of them."""
    lines = [grid.text(name, grid.LABEL) for name in names]
    stack = grid.stacked(lines, _LEGEND_PITCH, grid.START)
    return grid.margin(stack, left=4 * _GAP + _SAMPLE_WIDTH)


def _sample(series: Series, left: int, top: int, place: int) -> Floats:
    """Where the sample of a series in the legend runs."""
    start = left + 2 * _GAP
    shares = [0.5] if series.kind == "points" else [0.0, 1.0]
    row = top + (place + 0.5) * _LEGEND_PITCH - 0.5
    return np.array([[start + share * _SAMPLE_WIDTH, row] for share in shares])


def _draw(image: Image.Image, series: Series, places: Floats) -> None:
    """Lay a series over an image; places are centres of pixels, x and y."""
    low = np.floor(places.min(axis=0) - 2 * _POINT_RADIUS).astype(int)
    high = np.ceil(places.max(axis=0) + 2 * _POINT_RADIUS).astype(int)
    width, height = (high - low).tolist()
    large = Image.new("L", (width * _SUPERSAMPLING, height * _SUPERSAMPLING))
    _STROKES[series.kind](ImageDraw.Draw(large), (places - low + 0.5) * _SUPERSAMPLING)
    cover = large.reduce(_SUPERSAMPLING)
    image.paste(series.colour, tuple(low.tolist()), cover)


def _line(draw: ImageDraw.ImageDraw, places: Floats) -> None:
    """A line with round joints and ends."""
    width = _LINE_WIDTH * _SUPERSAMPLING
    draw.line(list(map(tuple, places)), fill=255, width=round(width), joint="curve")
    _discs(draw, places[[0, -1]], width / 2)


def _dashes(draw: ImageDraw.ImageDraw, places: Floats) -> None:
    for dash in _pieces(places, _DASH * _SUPERSAMPLING, _DASH_GAP * _SUPERSAMPLING):
        _line(draw, dash)


def _points(draw: ImageDraw.ImageDraw, places: Floats) -> None:
    _discs(draw, places, _POINT_RADIUS * _SUPERSAMPLING)


def _area(draw: ImageDraw.ImageDraw, places: Floats) -> None:
    draw.polygon(list(map(tuple, places)), fill=255)


def _discs(draw: ImageDraw.ImageDraw, places: Floats, radius: float) -> None:
    for x, y in places.tolist():
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)


def _pieces(places: Floats, dash: float, gap: float) -> Iterator[Floats]:
    """The dashes of a line, measured along it; every corner within a dash is kept."""
    travelled = np.append(0, np.linalg.norm(np.diff(places, axis=0), axis=1).cumsum())
    # A line without length still has its first dash: a dot.
    for start in np.arange(0, max(travelled[-1], 1), dash + gap):
        end = min(start + dash, travelled[-1])
        inner = travelled[(travelled > start) & (travelled < end)]
        along = np.concatenate([[start], inner, [end]])
        yield np.stack([np.interp(along, travelled, axis) for axis in places.T], axis=1)


_STROKES: dict[str, Callable[[ImageDraw.ImageDraw, Floats], None]] = {
    "line": _line,
    "dashes": _dashes,
    "points": _points,
    "area": _area,
}
