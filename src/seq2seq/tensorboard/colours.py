"""The colour scale: from near white (0) over green to dark blue (1).

Lightness falls evenly in OKLab (Ottosson 2020), so that equal steps of weight look equal, in grey
and to colour-blind readers too.
"""

import numpy as np
from numpy.typing import NDArray

NUM_COLOURS = 192
NUM_GREYS = 64
WHITE = NUM_COLOURS + NUM_GREYS - 1
"""Palette index of white. The greys go from black to white after the colours."""

LIGHTNESS = (0.985, 0.27)
CHROMA = (0.012, 0.13, 0.11)
HUE = (100.0, 268.0)

OKLAB_TO_LMS = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
LMS_TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def colour_scale() -> NDArray[np.uint8]:
    """The sRGB colours of the weights 0 to 1 in `NUM_COLOURS` even steps."""
    position = np.linspace(0, 1, NUM_COLOURS)
    lightness = np.interp(position, [0, 1], LIGHTNESS)
    chroma = np.interp(position, [0, 0.5, 1], CHROMA)
    hue = np.radians(np.interp(position, [0, 1], HUE))
    lab = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=1)
    linear = ((lab @ OKLAB_TO_LMS.T) ** 3 @ LMS_TO_RGB.T).clip(0, 1)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(255 * encoded).astype(np.uint8)


def palette() -> NDArray[np.uint8]:
    """The 256 colours of a picture: the scale, then the greys."""
    greys = np.rint(np.linspace(0, 255, NUM_GREYS)).astype(np.uint8)
    return np.concatenate([colour_scale(), np.repeat(greys[:, None], 3, axis=1)])


def colour_index(weights: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Palette indices of weights from 0 to 1."""
    return np.rint(weights.clip(0, 1) * (NUM_COLOURS - 1)).astype(np.uint8)


def grey_index(lightness: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Palette indices of greys from 0 (black) to 1 (white)."""
    return (NUM_COLOURS + np.rint(lightness.clip(0, 1) * (NUM_GREYS - 1))).astype(np.uint8)
