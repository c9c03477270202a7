"""The palette of every picture: a perceptually even colour map, and greys for everything else.

The colour map runs from near-white (0) over green and blue to a dark navy (1). Its lightness falls
all the way, so that it reads the same in print and for colour-blind people, and its levels are
equally far apart in OKLab, so that equal differences of weight look equally large.

Pictures are arrays of palette indexes: the colour map first, then ink from white to black.
"""

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

LEVELS = 192
INKS = 256 - LEVELS
PAPER = LEVELS

ROUNDING = 0.005
"""How far weights of 16-bit numbers may stray from 0..1."""

_BLACKEST = 0x1A
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


def oklab(colours: npt.ArrayLike) -> Floats:
    """OKLab coordinates (lightness, green-red, blue-yellow) of 8-bit sRGB colours (..., 3)."""
    encoded = np.asarray(colours, dtype=np.float64) / 255
    linear = np.where(encoded > 0.04045, ((encoded + 0.055) / 1.055) ** 2.4, encoded / 12.92)
    return np.cbrt(linear @ _RGB_TO_CONES.T) @ _CONES_TO_OKLAB.T


def _srgb(coordinates: Floats) -> Pixels:
    """8-bit sRGB colours of OKLab coordinates."""
    cones = (coordinates @ np.linalg.inv(_CONES_TO_OKLAB).T) ** 3
    linear = np.clip(cones @ np.linalg.inv(_RGB_TO_CONES).T, 0, 1)
    encoded = np.where(linear > 0.0031308, 1.055 * linear ** (1 / 2.4) - 0.055, 12.92 * linear)
    return (encoded * 255).round().astype(np.uint8)


def _even_path(points: Floats, count: int) -> Floats:
    """`count` points equally far apart along the path through `points`."""
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    travelled = np.concatenate([[0.0], lengths.cumsum()])
    places = np.linspace(0, travelled[-1], count)
    return np.stack([np.interp(places, travelled, axis) for axis in points.T], axis=-1)


def _palette() -> Pixels:
    anchors = oklab([tuple(bytes.fromhex(anchor)) for anchor in _ANCHORS])
    greys = np.linspace(255, _BLACKEST, INKS).round().astype(np.uint8)
    inks = np.repeat(greys[:, None], 3, axis=1)
    return np.concatenate([_srgb(_even_path(anchors, LEVELS)), inks])


PALETTE = _palette()


def checked_weights(weights: npt.ArrayLike, num_target: int, num_source: int) -> Floats:
    """Attention weights, one row for each target token, put right where rounding leads out of 0..1.

    Raises:
        ValueError: they are not of that shape, there are none, or one is no number or not in 0..1.
    """
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.shape != (num_target, num_source) or not matrix.size:
        raise ValueError(
            f"weights of shape {matrix.shape} do not fit {num_target} target tokens by"
            f" {num_source} source tokens, shape {(num_target, num_source)}; neither may be empty"
        )
    if not ((matrix >= -ROUNDING) & (matrix <= 1 + ROUNDING)).all():
        raise ValueError(
            f"weights of shape {matrix.shape} must lie in 0..1, got {matrix.min()} to {matrix.max()}"
        )
    return matrix.clip(0, 1)


def levels(weights: npt.ArrayLike) -> Pixels:
    """Palette indexes of weights in 0..1."""
    return (np.asarray(weights, dtype=np.float64) * (LEVELS - 1)).round().astype(np.uint8)


def colour(weight: float) -> tuple[int, int, int]:
    """The 8-bit sRGB colour of a weight in 0..1."""
    red, green, blue = PALETTE[int(levels(weight))].tolist()
    return red, green, blue


def ink(coverage: npt.ArrayLike, strength: float = 1.0) -> Pixels:
    """Palette indexes of ink on paper.

    Args:
        coverage: how much of each pixel is covered, in 0..255.
        strength: 1 for black, less for grey.
    """
    share = np.asarray(coverage, dtype=np.float64) / 255 * strength
    return (PAPER + (share * (INKS - 1)).round()).astype(np.uint8)


def difference_colours() -> Pixels:
    """Colours of differences from -1 to 1: vermilion, nothing in the middle, blue.

    An odd number of them, as far apart as those of the colour map, on either side of its paper.
    """
    paper, *_ = _ANCHORS
    sides = [(paper, "f2b48c", "d55e00", "7a2600"), (paper, "8fc3e6", "0072b2", "04304f")]
    negative, positive = (
        _srgb(_even_path(oklab([tuple(bytes.fromhex(anchor)) for anchor in side]), LEVELS // 2))
        for side in sides
    )
    return np.concatenate([negative[:0:-1], positive])
