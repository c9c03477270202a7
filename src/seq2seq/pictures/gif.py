"""Pictures that are played."""

from collections.abc import Sequence
from io import BytesIO

from PIL import Image

_PLAYED, _SHORTEST, _LONGEST, _HELD = 6000, 80, 600, 2500
"""Milliseconds of a GIF: of all its pictures, of each, of the last."""


def gif_bytes(images: Sequence[Image.Image]) -> bytes:
    """Pictures after each other as a GIF file, again and again, the last of them for longer."""
    pause = min(_LONGEST, max(_SHORTEST, _PLAYED // len(images)))
    width, height = (max(image.size[side] for image in images) for side in (0, 1))
    first, *others = [_on_paper(each, width, height) for each in images]
    file = BytesIO()
    first.save(
        file,
        "GIF",
        save_all=True,
        append_images=others,
        duration=[pause] * len(others) + [_HELD],
        loop=0,
    )
    return file.getvalue()


def _on_paper(image: Image.Image, width: int, height: int) -> Image.Image:
    """A picture of this room with more of its paper at its right and below."""
    sheet = Image.new("P", (width, height), image.getpixel((0, 0)))
    sheet.putpalette(image.getpalette() or [])
    sheet.paste(image)
    return sheet
