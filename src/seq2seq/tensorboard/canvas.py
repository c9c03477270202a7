"""A picture under construction, as palette indices."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from seq2seq.tensorboard.colours import (
    NUM_COLOURS,
    WHITE,
    colour_index,
    grey_index,
    palette,
)
from seq2seq.tensorboard.label import Ink, label


class Canvas:
    """A white picture of `width` x `height` pixels."""

    def __init__(self, width: int, height: int) -> None:
        self._pixels = np.full((height, width), WHITE, dtype=np.uint8)

    def text(
        self, text: str, x: int, y: int, *, size: int, ink: float = 1.0, anchor: str = "left"
    ) -> None:
        """Write a line whose top is at `y`; `anchor` says which end of it is at `x`."""
        mask = label(text, size)
        shift = {"left": 0, "middle": mask.shape[1] // 2, "right": mask.shape[1]}[anchor]
        self.ink(mask, x - shift, y, strength=ink)

    def ink(self, mask: Ink, x: int, y: int, *, strength: float = 1.0) -> None:
        """Put ink on white, with its top left corner at (x, y)."""
        height, width = mask.shape
        self._pixels[y : y + height, x : x + width] = grey_index(1 - strength * mask)

    def cells(self, shares: NDArray[np.floating], x: int, y: int, size: int, gap: int) -> None:
        """Draw a matrix of values from 0 to 1 in square cells with light lines between them."""
        colours = colour_index(shares)
        block = np.repeat(np.repeat(colours, size, axis=0), size, axis=1)
        if gap:
            line = grey_index(np.array([0.85]))[0]
            for offset in range(gap):
                block[size - 1 - offset :: size] = line
                block[:, size - 1 - offset :: size] = line
        height, width = block.shape
        self.frame(x - 1, y - 1, width + 1 + (gap == 0), height + 1 + (gap == 0))
        self._pixels[y : y + height, x : x + width] = block

    def frame(self, x: int, y: int, width: int, height: int) -> None:
        """A thin grey rectangle."""
        line = grey_index(np.array([0.6]))[0]
        self._pixels[y, x : x + width] = line
        self._pixels[y + height - 1, x : x + width] = line
        self._pixels[y : y + height, x] = line
        self._pixels[y : y + height, x + width - 1] = line

    def scale(self, x: int, y: int, height: int, ticks: tuple[str, ...]) -> None:
        """The legend: a bar with 1 at its top and 0 at its bottom, and the ticks beside it."""
        bar = np.linspace(NUM_COLOURS - 1, 0, height).round().astype(np.uint8)
        self.frame(x - 1, y - 1, 14, height + 2)
        self._pixels[y : y + height, x : x + 12] = bar[:, None]
        for place, tick in enumerate(ticks):
            top = y + round((height - 1) * (1 - place / (len(ticks) - 1)))
            self.text(tick, x + 17, top - 8, size=11, ink=0.8)

    def image(self) -> Image.Image:
        """The picture."""
        image = Image.fromarray(self._pixels, mode=None)
        image.putpalette(palette().tobytes())
        return image


def png_bytes(image: Image.Image) -> bytes:
    """A picture as the content of a PNG file."""
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
