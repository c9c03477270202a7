"""Fonts of this machine, and for each piece of text one that has its characters.

Fonts are looked for in the files and folders that the environment variable ``SEQ2SEQ_FONTS`` lists
(separated as in PATH), then in the system's font folders; Pillow's own font comes last.
"""

import os
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from PIL import ImageFont
from PIL.ImageFont import FreeTypeFont

from seq2seq.tensorboard.character_map import covered_ranges

FOLDERS = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path.home() / ".fonts",
    Path.home() / ".local/share/fonts",
    Path("/System/Library/Fonts"),
    Path("/Library/Fonts"),
    Path("C:/Windows/Fonts"),
)
PREFERRED = (
    "DejaVuSans",
    "NotoSans-Regular",
    "NotoSansCJK-Regular",
    "NotoSansArabic-Regular",
    "NotoSansHebrew-Regular",
    "LiberationSans-Regular",
    "Arial",
    "ArialUnicode",
    "SegoeUI",
)
ENDINGS = {".ttf", ".otf", ".ttc"}


@cache
def font_files() -> tuple[Path, ...]:
    """All font files, the user's first, then preferred ones, then the others by name."""
    user = [Path(entry) for entry in os.environ.get("SEQ2SEQ_FONTS", "").split(os.pathsep) if entry]
    rank = {name: place for place, name in enumerate(PREFERRED)}
    system = sorted(_files(FOLDERS), key=lambda path: (rank.get(path.stem, len(rank)), path.name))
    return (*_files(user), *system)


def _files(places: tuple[Path, ...] | list[Path]) -> list[Path]:
    found = []
    for place in places:
        candidates = [place] if place.is_file() else sorted(place.rglob("*"))
        found += [path for path in candidates if path.suffix.lower() in ENDINGS]
    return found


@cache
def _ranges(path: Path) -> tuple[list[int], list[int]]:
    ranges = sorted(covered_ranges(path))
    return [first for first, _ in ranges], [last for _, last in ranges]


def covers(path: Path, character: str) -> bool:
    """Whether a font has a character."""
    firsts, lasts = _ranges(path)
    place = bisect_right(firsts, ord(character)) - 1
    return place >= 0 and ord(character) <= lasts[place]


@cache
def _font_of(text: str) -> Path | None:
    """The first font that has all characters of a text and can be drawn."""
    for path in font_files():
        if all(covers(path, character) for character in text) and _scalable(path):
            return path
    return None


@cache
def _scalable(path: Path) -> bool:
    """Whether Pillow can draw the font at any size; bitmap fonts cannot."""
    try:
        ImageFont.truetype(path, 14)
    except OSError:
        return False
    return True


@cache
def load_font(path: Path | None, size: int) -> FreeTypeFont:
    """A font at a size in pixels; Pillow's own for None."""
    if path is not None:
        return ImageFont.truetype(path, size)
    font = ImageFont.load_default(size)
    if not isinstance(font, FreeTypeFont):
        raise TypeError("Pillow is built without FreeType: install the wheel from PyPI")
    return font


def runs(text: str) -> Iterator[tuple[str, Path | None, bool]]:
    """Cut a text into (run, font, whether it can be drawn); whole where one font has it all.

    Control characters, and characters that no font has, cannot be drawn.
    """
    if text.isprintable():
        path = _font_of(text)
        if path is not None or _built_in(text):
            yield text, path, True
            return
    for (path, drawable), group in groupby(text, key=_font_of_character):
        yield "".join(group), path, drawable


def _font_of_character(character: str) -> tuple[Path | None, bool]:
    if unicodedata.category(character)[0] == "C":
        return None, False
    path = _font_of(character)
    return path, path is not None or _built_in(character)


def _built_in(text: str) -> bool:
    """Whether Pillow's own font, which has ASCII at the least, will do."""
    return text.isascii()
