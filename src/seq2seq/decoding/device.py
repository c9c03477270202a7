"""Where to compute, by name."""

import torch

from seq2seq.errors import InputError


def device_named(name: str) -> torch.device:
    """The device of that name.

    Raises:
        InputError: there is none.
    """
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {name!r} is not here: choose cpu, cuda or mps") from error
