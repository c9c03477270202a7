"""Where and in which precision to compute, by name."""

import torch

from seq2seq.errors import InputError
from seq2seq.model.probe import bfloat16_pays
from seq2seq.model.spec import ModelSpec

PRECISIONS = ("fp32", "bf16", "auto")


def device_named(name: str) -> torch.device:
    """The device of that name.

    Raises:
        InputError: there is none.
    """
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} is not here: choose cpu, cuda or mps") from error


def is_mixed(precision: str, spec: ModelSpec, device: torch.device) -> bool:
    """Whether products are in bfloat16.

    Raises:
        InputError: there is no such precision.
    """
    if precision not in PRECISIONS:
        raise InputError(f"no precision {precision!r}: choose {', '.join(PRECISIONS)}")
    return precision == "bf16" or (precision == "auto" and bfloat16_pays(spec, device))
