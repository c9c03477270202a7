"""Text as pixels, in whatever script, without ever drawing the empty box of a missing glyph.

A text is written in the first font that has all its characters, else character by character. What
no font has, and what would be invisible or would break the line, becomes a box with the code point
in it, two rows of hexadecimal digits.
"""

import unicodedata
from functools import lru_cache
from itertools import groupby
from math import ceil
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, features

from seq2seq.pictures.colours import Pixels
from seq2seq.pictures.fonts import font_for, open_font

_JOINERS = "\u200c\u200d"
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}
_MARK_HEIGHT = 15
_MARK_INK = 170
# Five rows of three pixels for each digit, as octal digits: 4 is the left pixel, 1 the right one.
_DIGITS = "75557262277174771717557117471774757711227575775717257556565634443655567464774644"


def line_height(size: int) -> int:
    """Height in pixels of a line of text of a font size."""
    return ceil(1.3 * size)


def lettering(text: str, size: int) -> Pixels:
    """One line of text.

    Args:
        text: anything.
        size: font size in pixels; the baseline is that far below the top.

    Returns:
        How much of each pixel is covered, in 0..255; `line_height(size)` rows.
    """
    pieces = [_piece(run, font, size) for run, font in _runs(unicodedata.normalize("NFC", text))]
    if _is_right_to_left(text):
        pieces.reverse()
    return np.concatenate([np.zeros((line_height(size), 0), np.uint8), *pieces], axis=1)


def _runs(text: str) -> list[tuple[str, Path | None]]:
    """Pieces of a text, each with the font that can write it, or None."""
    if font := _font_of(text):
        return [(text, font)]
    characters = [character for letter in _letters(text) for character in _writable(letter)]
    return [("".join(run), font) for font, run in groupby(characters, key=_font_of)]


def _letters(text: str) -> list[str]:
    """Characters, each with the combining marks that follow it."""
    letters: list[str] = []
    for character in text:
        if letters and unicodedata.category(character).startswith("M"):
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def _writable(letter: str) -> list[str]:
    """A letter with its marks where one font has them all, else its characters."""
    return [letter] if _font_of(letter) else list(letter)


def _font_of(text: str) -> Path | None:
    """The font to write a text in, or None where a box must stand for it."""
    return font_for(text) if all(map(_is_seen, text)) else None


def _is_seen(character: str) -> bool:
    return character in " " + _JOINERS or unicodedata.category(character) not in _UNSEEN


def _is_right_to_left(text: str) -> bool:
    return any(unicodedata.bidirectional(character) in {"R", "AL"} for character in text)


def _piece(run: str, font: Path | None, size: int) -> Pixels:
    if font is None:
        marks = [_placed(code_point_mark(character), size) for character in run]
        return np.concatenate(marks, axis=1)
    return _written(_in_visual_order(run), font, size)


def _in_visual_order(run: str) -> str:
    """The run as the layout engine at hand wants it; the basic one does not know directions."""
    if features.check("raqm") or not _is_right_to_left(run):
        return run
    return "".join(reversed(_letters(run)))


@lru_cache(maxsize=4096)  # the same sentences are drawn again and again
def _written(run: str, font: Path, size: int) -> Pixels:
    opened = open_font(font, size)
    width = ceil(opened.getlength(run))
    image = Image.new("L", (width, line_height(size)))
    ImageDraw.Draw(image).text((0, size), run, fill=255, font=opened, anchor="ls")
    return np.asarray(image)


def _placed(mark: Pixels, size: int) -> Pixels:
    """A mark in the middle of a line."""
    height = line_height(size)
    above = max(0, (height - _MARK_HEIGHT) // 2)
    below = max(0, height - _MARK_HEIGHT - above)
    return np.pad(mark, ((above, below), (1, 1)))[:height]


def code_point_mark(character: str) -> Pixels:
    """A box with the hexadecimal code point of a character in it, in two rows of digits."""
    code = f"{ord(character):04X}"
    code = code if len(code) == 4 else code.zfill(6)
    half = len(code) // 2
    clear = np.zeros((1, 4 * half - 1), np.uint8)
    digits = np.concatenate([_digit_row(code[:half]), clear, _digit_row(code[half:])])
    return np.pad(np.pad(digits, 1), 1, constant_values=_MARK_INK)


def _digit_row(code: str) -> Pixels:
    """Digits of three by five pixels, a clear pixel between them."""
    glyphs = [_DIGITS[5 * int(digit, 16) :][:5] for digit in code]
    bits = [[[int(row) >> bit & 1 for row in glyph] for bit in (2, 1, 0)] for glyph in glyphs]
    columns = np.array(bits, dtype=np.uint8) * np.uint8(255)
    spaced = np.pad(columns, ((0, 0), (0, 1), (0, 0)))
    return spaced.reshape(4 * len(code), 5)[:-1].T
