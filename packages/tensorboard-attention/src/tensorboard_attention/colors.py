"""Color scales of the viewer: of weights in 0..1, and of differences of weights in -1..1.

The scale of weights runs from near-white (0) over green and blue to a dark navy (1). Its lightness falls
all the way, so that it reads the same in print and for color-blind people, and its levels are
equally far apart in OKLab, so that equal differences of weight look equally large.
"""

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

LEVELS = 192
_ANCHORS = ("fcfcf6", "c9e6b3", "55b5b0", "2468a8", "150e3c")

# Björn Ottosson, "A perceptual color space for image processing", 2020.
_RGB_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_CONES_TO_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def oklab(colors: npt.ArrayLike) -> Floats:
    """Return OKLab coordinates (lightness, green-red, blue-yellow) of 8-bit sRGB colors (..., 3)."""
    encoded = np.asarray(colors, dtype=np.float64) / 255
    linear = np.where(encoded > 0.04045, ((encoded + 0.055) / 1.055) ** 2.4, encoded / 12.92)
    return np.cbrt(linear @ _RGB_TO_CONES.T) @ _CONES_TO_OKLAB.T


def _scale(anchors: tuple[str, ...], count: int) -> Pixels:
    """Return `count` colors equally far apart on the path through anchors, as 8-bit sRGB."""
    points = oklab([tuple(bytes.fromhex(anchor)) for anchor in anchors])
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    traveled = np.concatenate([[0.0], lengths.cumsum()])
    places = np.linspace(0, traveled[-1], count)
    coordinates = np.stack([np.interp(places, traveled, axis) for axis in points.T], axis=-1)
    cones = (coordinates @ np.linalg.inv(_CONES_TO_OKLAB).T) ** 3
    linear = np.clip(cones @ np.linalg.inv(_RGB_TO_CONES).T, 0, 1)
    encoded = np.where(linear > 0.0031308, 1.055 * linear ** (1 / 2.4) - 0.055, 12.92 * linear)
    return (encoded * 255).round().astype(np.uint8)


def weight_colors() -> Pixels:
    """Return the colors of weights from 0 to 1."""
    return _scale(_ANCHORS, LEVELS)


def difference_colors() -> Pixels:
    """Return the colors of differences from -1 to 1: vermilion, nothing in the middle, blue.

    An odd number of them, as far apart as those of weights, on either side of the color of 0.
    """
    negative = _scale((_ANCHORS[0], "f2b48c", "d55e00", "7a2600"), LEVELS // 2)
    positive = _scale((_ANCHORS[0], "8fc3e6", "0072b2", "04304f"), LEVELS // 2)
    return np.concatenate([negative[:0:-1], positive])
