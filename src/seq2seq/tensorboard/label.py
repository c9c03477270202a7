"""Text as a mask of ink, whatever its script."""

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, features

from seq2seq.tensorboard.fonts import load_font, runs

Ink = NDArray[np.floating]
"""Share of ink in each pixel, 0 to 1 (height, width)."""

MAX_CHARACTERS = 40


def shortened(text: str) -> str:
    """A text whose middle is left out where it is very long."""
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}…{text[1 - half :]}"


@cache
def label(text: str, size: int) -> Ink:
    """Draw a text in one line of `size` pixels.

    Characters that no font of this machine has, and control characters, appear as their code
    point in a frame, such as ``4F60``: never as an empty box.
    """
    pieces = [
        _text(run, path, size) if drawable else _code_points(run, size)
        for run, path, drawable in runs(text)
    ]
    return np.concatenate(pieces, axis=1) if pieces else np.zeros((line_height(size), 0))


def line_height(size: int) -> int:
    """Height of a line of text."""
    return round(1.4 * size)


def _text(text: str, path: object, size: int) -> Ink:
    font = load_font(path, size)  # type: ignore[arg-type]
    shown = text if features.check("raqm") else _visual_order(text)
    width = max(int(np.ceil(font.getlength(shown))), 1)
    image = Image.new("L", (width + 1, line_height(size)))
    baseline = round(1.08 * size)
    ImageDraw.Draw(image).text((0, baseline), shown, font=font, fill=255, anchor="ls")
    return np.asarray(image, dtype=np.float64) / 255


def _visual_order(text: str) -> str:
    """Right-to-left text reversed, for a Pillow that only draws from the left."""
    right_to_left = any(unicodedata.bidirectional(c) in {"R", "AL"} for c in text)
    return text[::-1] if right_to_left else text


def _code_points(text: str, size: int) -> Ink:
    return np.concatenate([_code_point(character, size) for character in text], axis=1)


def _code_point(character: str, size: int) -> Ink:
    """The hexadecimal code point of a character in a frame."""
    digits = _text(f"{ord(character):04X}", None, max(size - 5, 7))
    height, width = line_height(size), digits.shape[1] + 6
    mark = np.zeros((height, width + 2))
    mark[1:-1, 1:-1] = 0.5
    mark[2:-2, 2:-2] = 0
    top = (height - digits.shape[0]) // 2
    mark[top : top + digits.shape[0], 4 : 4 + digits.shape[1]] += digits
    return mark.clip(0, 1)
