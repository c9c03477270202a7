"""Weights as 8-bit integers: the only format of them, written and read here.

A matrix W is held as integers q from -127 to 127 and a scale s for each row, W = s q; vectors are in float32. It lies in
the ``model.safetensors`` of a model folder (`packed`, `unpacked`), as NAME and NAME.int8_scale, and as JSON in the page
that translates (`as_json`), where the function ``arrayOf`` of ``export/static/model.js`` reads it.

`seq2seq.decoding.int8` multiplies integers, too, but writes none: it rounds the weights of any model when it is loaded, with
the maximum of a row as 127, which is quick. Weights that were held in this format have the same integers and scales there.
"""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seq2seq.common.errors import InputError

SCALE = ".int8_scale"

CLIPPED = np.linspace(1, 0.85, 16, dtype=np.float32)
"""Shares of the maximum weight of a row; what is above becomes that."""

TINY = 1e-35
"""What may become zero: formats hold numbers near zero with fewer bits."""

Matrix = np.ndarray[Any, Any]


def int8_rows(values: Matrix) -> tuple[Matrix, Matrix]:
    """Round a matrix to integers q from -127 to 127 and a scale s for each row, W ~ s q.

    s is that of `CLIPPED` max |w| / 127 with the least sum of squared errors of the row.

    Returns:
        The integers (R, C) as int8, and the scales (R, 1).
    """
    largest = np.abs(values).max(axis=1, keepdims=True)
    widest = np.where(largest > TINY, largest / np.float32(127), np.float32(1))
    tried = [widest * share for share in CLIPPED]

    def whole(scales: Matrix) -> Matrix:
        return np.rint(values / scales).clip(-127, 127)

    with np.errstate(over="ignore"):  # the first share of a row whose squares are too large
        errors = [np.square(whole(scales) * scales - values).sum(axis=1) for scales in tried]
    scales = np.stack(tried)[np.argmin(errors, axis=0), np.arange(len(values))]
    return whole(scales).astype(np.int8), scales


def packed(name: str, weight: Tensor) -> dict[str, Tensor]:
    """Return a weight in float32, or a buffer of whole numbers, as a file holds it, by the names there."""
    if weight.ndim != 2 or not weight.is_floating_point():
        return {name: weight}
    numbers, scales = int8_rows(weight.numpy())
    return {name: torch.from_numpy(numbers), f"{name}{SCALE}": torch.from_numpy(scales.squeeze(1))}


def unpacked(name: str, stored: Mapping[str, Tensor]) -> Tensor:
    """Return the weight in float32 that a file holds as 8-bit integers.

    Raises:
        InputError: There are 8-bit integers without scales.
    """
    numbers, scales = stored[name], stored.get(f"{name}{SCALE}")
    if scales is None:
        raise InputError(f"{name} is {numbers.dtype} without scales")
    return numbers.float() * scales.float().unsqueeze(1)


def as_json(weight: Tensor) -> tuple[dict[str, Any], Matrix]:
    """Return a weight as JSON holds it, and the numbers that it then has."""
    values = weight.float().numpy()
    if values.ndim < 2:
        return {"shape": values.shape, "numbers": base64_of(values), "scales": None}, values
    numbers, scales = int8_rows(values)
    held = {"shape": values.shape, "numbers": base64_of(numbers), "scales": base64_of(scales)}
    return held, numbers * scales


def base64_of(values: Matrix) -> str:
    """Return the bytes of an array, little-endian, as text."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(little.tobytes()).decode("ascii")
