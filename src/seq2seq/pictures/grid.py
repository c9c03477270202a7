"""What pictures are put together from: matrices of cells, lines of text, a colour bar.

A block is an array of palette indexes, see `seq2seq.pictures.colours`. Blocks are set beside or
above each other on paper; nothing is ever resampled, so that every edge is sharp at 100 %.
"""

from collections.abc import Sequence

import numpy as np
from PIL import Image

from seq2seq.pictures.colours import PALETTE, PAPER, Floats, Pixels, ink, levels
from seq2seq.pictures.lettering import lettering

START, CENTRE, END = 0.0, 0.5, 1.0
"""Where a block lies in the space that a larger one leaves it."""

FRAME = 0.45
SEPARATOR = 0.1
SEPARATED = 8
"""Cells of fewer pixels stand without separators."""

EDGE = 16
"""Paper around a page."""

DASH = 4
OVERHANG = 8
"""How far numbers stand out beyond the end of an axis."""

BAR_LENGTH = 128
BAR_WIDTH = 14
SMALL = 12
"""Font size of numbers."""
LABEL, LABEL_GREY = 13, 0.7
"""Font size and strength of what stands beside an axis."""


def paper(height: int, width: int) -> Pixels:
    """An empty block."""
    return np.full((height, width), PAPER, dtype=np.uint8)


def margin(
    block: Pixels, *, top: int = 0, right: int = 0, bottom: int = 0, left: int = 0
) -> Pixels:
    """A block with paper around it."""
    return np.pad(block, ((top, bottom), (left, right)), constant_values=PAPER)


def fitted(block: Pixels, height: int, width: int, down: float, across: float) -> Pixels:
    """A block placed on a sheet of the given size, from START (0) to END (1) in each direction."""
    top = int((height - block.shape[0]) * down)
    left = int((width - block.shape[1]) * across)
    bottom, right = height - block.shape[0] - top, width - block.shape[1] - left
    return margin(block, top=top, bottom=bottom, left=left, right=right)


def beside(*blocks: Pixels, gap: int = 0, down: float = START) -> Pixels:
    """Blocks from left to right."""
    height = max(block.shape[0] for block in blocks)
    sheets = [fitted(block, height, block.shape[1] + gap, down, START) for block in blocks]
    return np.concatenate(sheets, axis=1)[:, : -gap or None]


def above(*blocks: Pixels, gap: int = 0, across: float = START) -> Pixels:
    """Blocks from top to bottom."""
    width = max(block.shape[1] for block in blocks)
    sheets = [fitted(block, block.shape[0] + gap, width, START, across) for block in blocks]
    return np.concatenate(sheets)[: -gap or None]


def text(line: str, size: int, strength: float = 1.0) -> Pixels:
    """A line of text.

    The size is that of the font in pixels, the strength 1 for black and less for grey.
    """
    return ink(lettering(line, size), strength)


def stacked(lines: Sequence[Pixels], pitch: int, across: float) -> Pixels:
    """Lines of text, one to each `pitch` pixels, in the middle of them."""
    width = max(line.shape[1] for line in lines)
    rows = [fitted(line, pitch, width, CENTRE, across) for line in lines]
    return margin(np.concatenate(rows), bottom=1)


def upwards(block: Pixels) -> Pixels:
    """A block turned to read from bottom to top; its rows become columns, the first one left."""
    return np.rot90(block)


def cells(shares: Floats, size: int) -> Pixels:
    """A framed matrix; the first cell begins one pixel from the corner, the next `size` pixels on.

    Args:
        shares: what to draw, in 0..1.
        size: pixels from one cell to the next, the last one being a separator if there is room.
    """
    colours = levels(shares).repeat(size, axis=0).repeat(size, axis=1)
    if size >= SEPARATED:
        colours[size - 1 :: size] = colours[:, size - 1 :: size] = ink(255, SEPARATOR)
        colours = colours[:-1, :-1]
    return np.pad(colours, 1, constant_values=ink(255, FRAME))


def put(sheet: Pixels, block: Pixels, row: float, column: float) -> None:
    """Set a block on empty paper, with its corner there; what lies outside the sheet is lost."""
    top, left = max(0, round(row)), max(0, round(column))
    place = sheet[top : top + block.shape[0], left : left + block.shape[1]]
    np.maximum(place, block[: place.shape[0], : place.shape[1]], out=place)


def colour_bar(maximum: float) -> Pixels:
    """The legend: what colour stands for 0, half of the maximum, and the maximum."""
    shares = np.linspace(1, 0, BAR_LENGTH)[:, None].repeat(BAR_WIDTH, axis=1)
    numbers = [text(f"{maximum * share:.3g}", SMALL) for share in (1, 0.5, 0)]
    bar = margin(cells(shares, 1), top=OVERHANG, bottom=OVERHANG)
    width = max(number.shape[1] for number in numbers)
    sheet = paper(bar.shape[0], DASH + 3 + width)
    for number, share in zip(numbers, (1, 0.5, 0), strict=True):
        row = OVERHANG + 1 + round((BAR_LENGTH - 1) * (1 - share))
        put(sheet, dash(1, DASH), row, 0)
        put(sheet, number, row - number.shape[0] // 2, DASH + 3)
    return beside(bar, sheet)


def axis(
    ticks: Sequence[tuple[int, str]], name: str, length: int, *, gap: int, top: int = 0
) -> Pixels:
    """What stands on the left of a field: a name that reads upwards, numbers, and their dashes.

    Args:
        ticks: the numbers and their places.
        name: what they are.
        length: of the field.
        gap: between name, numbers and dashes.
        top: paper above, into which the first number may reach.
    """
    label = upwards(text(name, LABEL, LABEL_GREY))
    numbers = [(top + place, text(number, SMALL)) for place, number in ticks]
    right = label.shape[1] + gap + max(number.shape[1] for _, number in numbers)
    sheet = paper(top + max(length + OVERHANG, label.shape[0]), right + gap + DASH)
    put(sheet, label, top + max(0, (length - label.shape[0]) // 2), 0)
    for row, number in numbers:
        put(sheet, dash(1, DASH), row, right + gap)
        put(sheet, number, row - number.shape[0] // 2, right - number.shape[1])
    return sheet


def dash(height: int, width: int) -> Pixels:
    """A stroke that ties a number to its place."""
    return np.full((height, width), ink(255, FRAME), dtype=np.uint8)


def picture(block: Pixels) -> Image.Image:
    """A page with a block on it, as an image with a palette."""
    page = margin(block, top=EDGE, right=EDGE, bottom=EDGE, left=EDGE)
    image = Image.fromarray(np.ascontiguousarray(page))
    image.putpalette(PALETTE.tobytes())
    return image
