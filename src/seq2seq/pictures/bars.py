"""Bars: a number for each of some names."""

from collections.abc import Mapping

import numpy as np
from PIL import Image

from seq2seq.pictures import grid
from seq2seq.pictures.colours import ink

LENGTH = 300
_THICKNESS = 14
_PITCH = 24
_SIZE = 13
_STRENGTH = 0.65


def render_bars(numbers: Mapping[str, float], *, title: str) -> Image.Image:
    """Draw numbers that are not negative as horizontal bars, in their order.

    Raises:
        ValueError: there are none, or one is negative or not finite.
    """
    values = np.array(list(numbers.values()), dtype=np.float64)
    if not values.size or not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"bars need finite numbers of at least 0, got {dict(numbers)}")
    longest = values.max() or 1.0
    names = grid.stacked([grid.text(name, _SIZE) for name in numbers], _PITCH, grid.END)
    bars = grid.paper(_PITCH * len(values) + 1, LENGTH + 60)
    for row, value in enumerate(values.tolist()):
        top = row * _PITCH + (_PITCH - _THICKNESS) // 2
        length = round(LENGTH * value / longest)
        bars[top : top + _THICKNESS, : length + 1] = ink(255, _STRENGTH)
        number = grid.text(f"{value:.3g}", grid.SMALL)
        grid.put(bars, number, top, length + 6)
    body = grid.beside(names, bars, gap=10)
    return grid.picture(grid.above(grid.text(title, _SIZE + 2), body, gap=10))
