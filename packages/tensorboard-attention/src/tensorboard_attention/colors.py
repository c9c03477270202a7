"""Color scales of the viewer: of weights in 0..1, and of differences of weights in -1..1.

The scale of weights runs from near-white (0) over green and blue to a dark navy (1). Its lightness falls all the way, so that
it reads the same in print and for color-blind people. Colors are given at places where they are equally far apart in OKLab
(Ottosson, "A perceptual color space for image processing", 2020), so that equal differences of weight look equally large.
"""

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]

WEIGHTS = {
    0: "fcfcf6", 13: "e3f1d5", 27: "c8e6b3", 48: "94ceb3", 70: "56b5b0", 96: "3b8fae", 122: "2469a8", 157: "21396f",
    191: "150e3c",
}  # fmt: skip
LOWER = {0: "fcfcf6", 14: "f9d9c2", 29: "f2b38b", 44: "e58b57", 60: "d55f04", 78: "a64100", 95: "7a2600"}
HIGHER = {0: "fcfcf6", 14: "c6e0ef", 28: "8fc3e6", 46: "5499cc", 63: "0373b2", 79: "04507f", 95: "04304f"}
"""8-bit sRGB colors by their place in a scale: of weights, and of differences below and above 0."""


def _scale(colors: dict[int, str]) -> Pixels:
    """Return the colors of all places."""
    channels = np.array([[*bytes.fromhex(color)] for color in colors.values()]).T
    places = np.arange(max(colors) + 1)
    found = np.stack([np.interp(places, [*colors], channel) for channel in channels], axis=-1)
    return found.round().astype(np.uint8)


def weight_colors() -> Pixels:
    """Return the colors of weights from 0 to 1."""
    return _scale(WEIGHTS)


def difference_colors() -> Pixels:
    """Return the colors of differences from -1 to 1: vermilion, nothing in the middle, blue."""
    return np.concatenate([_scale(LOWER)[:0:-1], _scale(HIGHER)])


def color_scales() -> dict[str, list[str]]:
    """Return both scales as the viewer reads them."""
    scales = {"colors": weight_colors(), "difference": difference_colors()}
    return {name: ["#" + bytes(color).hex() for color in scale.tolist()] for name, scale in scales.items()}
