"""Which of the fonts on this machine can write a text.

Fonts are asked in this order: those named by the environment setting ``SEQ2SEQ_FONTS`` (font files
or folders, separated by ``os.pathsep``), well-known text fonts in the folders where the system
keeps fonts, the one built into Pillow, and any other font of the system. A font is opened when the
fonts before it lack a character, and no sooner.
"""

import os
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from PIL import ImageFont

SETTING = "SEQ2SEQ_FONTS"
BUILT_IN = Path("built into Pillow")
MISSING = "\U0010ffff"
"""No character, and never one: what a font draws for it stands for all that it lacks."""
BLANK = " \u200c\u200d"
"""Characters of which nothing is seen."""

_FOLDERS = (
    "~/.fonts",
    "~/.local/share/fonts",
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/Library/Fonts",
    "/Library/Fonts",
    "/System/Library/Fonts",
    "C:/Windows/Fonts",
)
_SUFFIXES = {".ttf", ".otf", ".ttc", ".otc"}
_WELL_KNOWN = (
    "dejavusans",
    "notosans-regular",
    "liberationsans-regular",
    "arial",
    "helvetica",
    "segoeui",
    "roboto-regular",
    "notosanscjk-regular",
    "notosanscjksc-regular",
    "sourcehansans-regular",
    "wqy-microhei",
    "droidsansfallbackfull",
    "arial unicode",
    "pingfang",
    "msyh",
    "notosansarabic-regular",
    "notosanshebrew-regular",
    "notosansdevanagari-regular",
    "notosansthai-regular",
)
_STYLED = ("bold", "italic", "oblique", "mono", "condensed", "light", "black", "thin")


def font_for(text: str) -> Path | None:
    """The first font that can write all of a text, or None."""
    return _font_for(text, os.environ.get(SETTING, ""))


@lru_cache(maxsize=4096)
def _font_for(text: str, setting: str) -> Path | None:
    characters = dict.fromkeys(text)
    chain = _chain(setting)
    return next((font for font in chain if all(covers(font, each) for each in characters)), None)


@lru_cache(maxsize=1 << 16)
def covers(font: Path, character: str) -> bool:
    """Whether a font has a glyph for a character, which it draws in one colour."""
    try:
        drawn, missing = _glyph(font, character), _glyph(font, MISSING)
    except (OSError, ValueError):  # it cannot be read
        return False
    return drawn != missing and (any(drawn[1]) or character in BLANK)


@lru_cache(maxsize=1024)
def _glyph(font: Path, character: str) -> tuple[float, bytes]:
    """Width and pixels, large enough to tell every other glyph from that of missing characters."""
    opened = _unshaped(font)
    return opened.getlength(character), bytes(opened.getmask(character))


@lru_cache(maxsize=256)
def _unshaped(font: Path) -> Any:
    """A font that draws a character by itself, and no dotted circle below a mark."""
    return open_font(font, 32).font_variant(layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=64)
def open_font(font: Path, size: int) -> Any:
    """A font at a size in pixels.

    Raises:
        OSError: Pillow cannot read the file, or not at that size.
    """
    if font == BUILT_IN:
        return ImageFont.load_default(size)
    return ImageFont.truetype(str(font), size)


@cache
def _chain(setting: str) -> tuple[Path, ...]:
    """All fonts, the one to prefer first."""
    chosen = [font for place in setting.split(os.pathsep) if place for font in _found(Path(place))]
    installed = [font for folder in _FOLDERS for font in _found(Path(folder).expanduser())]
    known = [font for font in installed if _name(font) in _WELL_KNOWN]
    other = [font for font in installed if _name(font) not in _WELL_KNOWN]
    known.sort(key=lambda font: _WELL_KNOWN.index(_name(font)))
    other.sort(key=lambda font: (any(style in _name(font) for style in _STYLED), _name(font)))
    return (*chosen, *known, BUILT_IN, *other)


def _name(font: Path) -> str:
    return font.stem.lower()


def _found(place: Path) -> Iterator[Path]:
    """The font files at a path: the file itself, or all below a folder, by name."""
    if place.is_file():
        yield place
    for folder, _, names in sorted(os.walk(place)):
        yield from (
            Path(folder, name) for name in sorted(names) if Path(name).suffix.lower() in _SUFFIXES
        )
