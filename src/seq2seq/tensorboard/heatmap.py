"""Attention as a picture: a pure function of weights and labels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from seq2seq.tensorboard.canvas import Canvas
from seq2seq.tensorboard.label import label, line_height

TEXT = 14
"""Size of the tokens in pixels."""
TITLE = 15
MARGIN = 12
LEGEND = 64
"""Width of the colour scale and its ticks."""
SPECIAL_INK = 0.55
SPECIAL = {"<unk>", "<pad>", "<bos>", "<eos>"}


def render_attention(
    weights: ArrayLike,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    *,
    title: str = "",
) -> Image.Image:
    """Draw attention weights, the source across and the target down.

    Every weight is a square of whole pixels on a fixed scale from 0 to 1. Sentences are shown
    whole, however long; special tokens are grey.

    Args:
        weights: attention probabilities (target, source).
        source_tokens: labels of the columns.
        target_tokens: labels of the rows.
        title: a line above the picture.

    Raises:
        ValueError: there are no weights, they are not finite, or the labels do not fit them.
    """
    matrix = _checked(weights, source_tokens, target_tokens)
    size = cell_size(matrix.shape)
    columns = [label(token, TEXT) for token in source_tokens]
    rows = [label(token, TEXT) for token in target_tokens]
    left = MARGIN + max(row.shape[1] for row in rows) + 8
    title_height = line_height(TITLE) + 8 if title else 0
    top = MARGIN + title_height + max(column.shape[1] for column in columns) + 8
    grid_height, grid_width = size * matrix.shape[0], size * matrix.shape[1]
    width = max(left + grid_width + LEGEND, MARGIN + label(title, TITLE).shape[1]) + MARGIN
    canvas = Canvas(width, top + max(grid_height, 60) + MARGIN)
    if title:
        canvas.text(title, MARGIN, MARGIN, size=TITLE)
    for index, (token, ink) in enumerate(zip(source_tokens, columns, strict=True)):
        x = left + index * size + (size - ink.shape[0]) // 2
        canvas.ink(np.rot90(ink), x, top - 8 - ink.shape[1], strength=_strength(token))
    for index, (token, ink) in enumerate(zip(target_tokens, rows, strict=True)):
        y = top + index * size + (size - ink.shape[0]) // 2
        canvas.ink(ink, left - 8 - ink.shape[1], y, strength=_strength(token))
    canvas.cells(matrix, left, top, size, gap=1)
    canvas.scale(left + grid_width + 16, top, min(max(grid_height, 60), 160), ("0", "0.5", "1"))
    return canvas.image()


def cell_size(shape: tuple[int, ...]) -> int:
    """Side of a cell in pixels: large for short sentences, never too small for a label."""
    return int(np.clip(560 // max(shape), line_height(TEXT), 32))


def _strength(token: str) -> float:
    return SPECIAL_INK if token in SPECIAL else 1.0


def _checked(
    weights: ArrayLike, source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> NDArray[np.float64]:
    matrix = np.asarray(weights, dtype=np.float64)
    wanted = (len(target_tokens), len(source_tokens))
    if matrix.shape != wanted or not matrix.size:
        raise ValueError(
            f"weights of shape {matrix.shape} do not fit {wanted[0]} target and {wanted[1]} "
            "source tokens"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("attention weights must be finite")
    return matrix
