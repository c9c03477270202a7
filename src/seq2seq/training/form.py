"""The form of values and tensors that were read: that of others which are as they should be."""

import math
from typing import Any

import torch
from torch import Tensor

MOST = 2**53
"""Of whole numbers, and of floats."""


def require_form(found: Any, fresh: Any, where: str) -> None:
    """Check that a value has the form of another: types, names, lengths, shapes.

    Numbers are within bounds, and finite unless the other is not. Where the other is None in a
    mapping there may be text.

    Raises:
        ValueError: naming the part that differs.
    """
    if isinstance(fresh, Tensor):
        _require_tensor(found, fresh, where)
    elif isinstance(fresh, dict):
        if not isinstance(found, dict) or found.keys() != fresh.keys():
            raise ValueError(f"{where}: {_difference(found, fresh)}")
        for key, value in fresh.items():
            text = value is None and isinstance(found[key], str)
            require_form(found[key], found[key] if text else value, f"{where}.{key}")
    elif isinstance(fresh, list | tuple):
        if type(found) is not type(fresh) or len(found) != len(fresh):
            raise ValueError(f"{where}: not {len(fresh)} values")
        for place, value in enumerate(fresh):
            require_form(found[place], value, f"{where}.{place}")
    elif not _is_alike(found, fresh):
        raise ValueError(f"{where}: not {_kind(fresh)}")


def _difference(found: Any, fresh: dict[Any, Any]) -> str:
    if not isinstance(found, dict):
        return "not a mapping"
    missing = [name for name in fresh if name not in found]
    return f"{missing[0]} is missing" if missing else "it holds what this training does not have"


def _require_tensor(found: Any, fresh: Tensor, where: str) -> None:
    if not isinstance(found, Tensor) or found.layout != torch.strided or found.is_meta:
        raise ValueError(f"{where}: not a tensor")
    if found.shape != fresh.shape or found.dtype != fresh.dtype:
        raise ValueError(
            f"{where}: {tuple(found.shape)} {found.dtype}, not {tuple(fresh.shape)} {fresh.dtype}"
        )
    if bool(fresh.isfinite().all()) and not bool(found.isfinite().all()):
        raise ValueError(f"{where}: NaN or infinite")


def _is_alike(found: Any, fresh: Any) -> bool:
    if isinstance(fresh, bool) or fresh is None:
        return type(found) is type(fresh)
    if isinstance(fresh, int):
        return type(found) is int and -1 <= found <= MOST
    if isinstance(fresh, float):
        is_number = type(found) in {int, float} and abs(found) <= MOST
        return is_number or (type(found) is float and math.isinf(fresh) and math.isinf(found))
    return type(found) is type(fresh) and found == fresh


def _kind(value: Any) -> str:
    return repr(value) if isinstance(value, str) else type(value).__name__
