"""Pictures of attention weights: one sentence pair, or several matrices side by side.

Pure functions: the same numbers and labels give the same picture on the same machine. Images have
a palette, so that their PNG files are small.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from io import BytesIO

import numpy as np
import numpy.typing as npt
from PIL import Image

from seq2seq.pictures import grid
from seq2seq.pictures.colours import Floats, Pixels, checked_weights
from seq2seq.pictures.lettering import line_height
from seq2seq.pictures.panel import Axis, panel, panel_bar

MIN_CELL = 16
MAX_CELL = 32
LABEL_LIMIT = 40
"""Longer labels lose their middle."""

_TITLE_LIMIT = 160
_MATRIX_LENGTH = 480
_LARGEST_LABEL = 15
_TITLE_SIZE = 15
_GAP = 8
_GREY = 0.55
_SPECIAL = re.compile(r"<[^<>\s]+>")


def render_attention(
    weights: npt.ArrayLike,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    *,
    title: str = "",
    cell_size: int | None = None,
    width: int | None = None,
) -> Image.Image:
    """Draw which source tokens each target token attends to.

    Colours stand for 0 to 1 in every picture, so that pictures can be compared.

    Args:
        weights: attention weights in 0..1, one row for each target token.
        source_tokens: labels of the columns.
        target_tokens: labels of the rows.
        title: a line at the top.
        cell_size: pixels from one cell to the next, at least `MIN_CELL`; None chooses by the
            number of tokens.
        width: of the picture in pixels, as far as labels remain legible: without a colour bar,
            its cells are as large as that allows.

    Raises:
        ValueError: weights and labels disagree in number, there are none, a weight is no number
            or outside 0..1, or the cells are too small for labels.
    """
    matrix = checked_weights(weights, len(target_tokens), len(source_tokens))
    size = _cell_size(matrix) if cell_size is None else cell_size
    if size < MIN_CELL:
        raise ValueError(f"cell_size must be at least {MIN_CELL} pixels, got {size}")
    if width is not None:
        return grid.picture(_of_width(matrix, source_tokens, target_tokens, title, width))
    columns, chart = _chart(matrix, source_tokens, target_tokens, size)
    bar = grid.margin(grid.colour_bar(1), top=columns + _GAP - grid.OVERHANG)
    return grid.picture(_titled(title, grid.beside(chart, bar, gap=3 * _GAP)))


def _chart(
    matrix: Floats, source_tokens: Sequence[str], target_tokens: Sequence[str], size: int
) -> tuple[int, Pixels]:
    """The height of the labels above the cells, and all of it."""
    columns = grid.upwards(grid.stacked(_labels(source_tokens, size), size, grid.START))
    rows = grid.stacked(_labels(target_tokens, size), size, grid.END)
    return columns.shape[0], _labelled(grid.cells(matrix, size), rows, columns)


def _of_width(
    matrix: Floats,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    title: str,
    width: int,
) -> Pixels:
    """The chart with the largest cells that leave it within the width, and paper for the rest."""
    room = width - 2 * grid.EDGE
    largest = max(MIN_CELL, min(MAX_CELL, room // matrix.shape[1]))
    for size in range(largest, MIN_CELL - 1, -1):
        _, chart = _chart(matrix, source_tokens, target_tokens, size)
        if chart.shape[1] <= room:
            break
    block = _titled(_fitting(title, max(room, chart.shape[1])), chart)
    return grid.margin(block, right=max(0, room - block.shape[1]))


def _fitting(title: str, room: int) -> str:
    """As much of a title as there is room for, in pixels."""
    limits = range(1, min(len(title), _TITLE_LIMIT) + 1)
    longest = bisect_right(limits, room, key=lambda limit: _line(title, limit).shape[1])
    return shortened(title, longest) if longest else ""


def render_matrices(
    matrices: Sequence[npt.ArrayLike],
    *,
    titles: Sequence[str],
    x_label: str,
    y_label: str,
    x_ticks: Sequence[float] | None = None,
    y_ticks: Sequence[float] | None = None,
    columns: int | None = None,
    shared_scale: bool = True,
) -> Image.Image:
    """Draw matrices side by side, with numbers along their axes.

    Args:
        matrices: non-negative numbers; all of one shape.
        titles: a line above each matrix.
        x_label: what the columns are.
        y_label: what the rows are.
        x_ticks: the coordinate of each column; None counts the columns from 0.
        y_ticks: the coordinate of each row; None counts the rows from 0.
        columns: matrices in a row of the picture; None for at most four.
        shared_scale: whether the greatest number of all matrices has the darkest colour, with one
            colour bar; or else that of each matrix, with a colour bar for each.

    Raises:
        ValueError: shapes, titles and ticks disagree in number, there are none, or a number is
            negative or not finite.
    """
    stack = _checked_matrices(matrices, titles)
    x_axis = Axis.along(stack.shape[2], x_label, x_ticks)
    y_axis = Axis.along(stack.shape[1], y_label, y_ticks)
    maxima = _maxima(stack, shared_scale)
    panels = [
        panel(matrix / maximum, title, x_axis, y_axis)
        for matrix, maximum, title in zip(stack, maxima, titles, strict=True)
    ]
    bars = [panel_bar(maximum) for maximum in maxima]
    if shared_scale:
        return grid.picture(grid.beside(_in_rows(panels, columns), bars[0]))
    pairs = [grid.beside(*pair) for pair in zip(panels, bars, strict=True)]
    return grid.picture(_in_rows(pairs, columns))


def attention_title(run: str, *, step: int | None = None, score: float | None = None) -> str:
    """The title of a sentence's picture."""
    parts = [run]
    if step is not None:
        parts.append(f"step {step}")
    if score is not None:
        parts.append(f"score {score:.2f}")
    return "  ".join(parts)


def png_bytes(image: Image.Image) -> bytes:
    """A picture as a PNG file, without loss."""
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _cell_size(matrix: Floats) -> int:
    """Whole pixels, fewer for more tokens, as long as labels remain legible."""
    return min(MAX_CELL, max(MIN_CELL, _MATRIX_LENGTH // max(matrix.shape)))


def _labels(tokens: Sequence[str], cell: int) -> list[Pixels]:
    size = _LARGEST_LABEL
    while line_height(size) > cell:
        size -= 1
    return [_label(token, size) for token in tokens]


def _label(token: str, size: int) -> Pixels:
    """A token as it is: spaces and nothing at all are visible, special tokens grey."""
    if not token:
        return grid.text('""', size, _GREY)
    strength = _GREY if _SPECIAL.fullmatch(token) else 1
    return grid.text(shortened(token, LABEL_LIMIT).replace(" ", "␣"), size, strength)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters of a text: its beginning and its end."""
    if len(text) <= limit:
        return text
    end = (limit - 1) // 2
    return f"{text[: limit - 1 - end]}…{text[-end:]}"


def _labelled(matrix: Pixels, rows: Pixels, columns: Pixels) -> Pixels:
    head = grid.margin(columns, left=rows.shape[1] + _GAP, bottom=_GAP)
    return grid.above(head, grid.beside(rows, matrix, gap=_GAP))


def _titled(title: str, chart: Pixels) -> Pixels:
    if not title:
        return chart
    return grid.above(_line(title, _TITLE_LIMIT), chart, gap=2 * _GAP)


def _line(title: str, limit: int) -> Pixels:
    return grid.text(shortened(title, limit), _TITLE_SIZE)


def _checked_matrices(matrices: Sequence[npt.ArrayLike], titles: Sequence[str]) -> Floats:
    arrays = [np.asarray(matrix, dtype=np.float64) for matrix in matrices]
    shapes = [array.shape for array in arrays]
    if not arrays or len(arrays) != len(titles):
        raise ValueError(f"{len(arrays)} matrices of shapes {shapes} for {len(titles)} titles")
    if len(set(shapes)) > 1 or len(shapes[0]) != 2 or not arrays[0].size:
        raise ValueError(f"matrices need one shape, rows by columns, got {shapes}")
    stack = np.stack(arrays)
    if not (np.isfinite(stack) & (stack >= 0)).all():
        raise ValueError(f"matrices of shapes {shapes} hold negative or non-finite numbers")
    return stack


def _maxima(stack: Floats, shared: bool) -> list[float]:
    """What the darkest colour stands for in each matrix."""
    greatest = stack.max() if shared else stack.max(axis=(1, 2))
    return np.broadcast_to(np.where(greatest > 0, greatest, 1), len(stack)).tolist()


def _in_rows(panels: Sequence[Pixels], columns: int | None) -> Pixels:
    count = columns or 4
    rows = [panels[start : start + count] for start in range(0, len(panels), count)]
    return grid.above(*(grid.beside(*row, gap=_GAP) for row in rows), gap=2 * _GAP)
