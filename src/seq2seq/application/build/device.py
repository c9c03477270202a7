"""The device that a configuration picks."""

import torch

from seq2seq.config import Accelerator, DeviceConfig
from seq2seq.errors import InputError


def build_device(device: DeviceConfig) -> torch.device:
    """Find the device, and set the number of CPU threads.

    Raises:
        InputError: this machine does not have it.
    """
    present = {
        "gpu": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    wanted = device.accelerator.value
    if device.accelerator is Accelerator.auto:
        wanted = next(name for name, there in present.items() if there)
    if not present[wanted]:
        names = ", ".join(name for name, there in present.items() if there)
        raise InputError(f"device={wanted}: this machine has none, choose among auto, {names}")
    if device.threads is not None:
        torch.set_num_threads(device.threads)
    return torch.device({"gpu": "cuda"}.get(wanted, wanted))
