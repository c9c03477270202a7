"""The device and the number format that a configuration picks."""

import torch

from seq2seq.config import Accelerator, DeviceConfig, Precision
from seq2seq.errors import InputError
from seq2seq.model.probe import bfloat16_pays
from seq2seq.model.spec import ModelSpec


def build_device(device: DeviceConfig, place: int = 0) -> torch.device:
    """Find the device, and set the number of CPU threads.

    Args:
        device: what is wanted.
        place: number of the GPU, of the processes on this machine.

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
    if device.devices > 1:
        return _one_of_many(wanted, device.devices, place)
    return torch.device({"gpu": "cuda"}.get(wanted, wanted))


def _one_of_many(wanted: str, num_devices: int, place: int) -> torch.device:
    if wanted == "gpu":
        if torch.cuda.device_count() < num_devices:
            raise InputError(
                f"device.devices={num_devices}: this machine has {torch.cuda.device_count()} GPUs"
            )
        return torch.device("cuda", place)
    if wanted == "mps":
        raise InputError("device.devices: one with mps; several with gpu and cpu")
    return torch.device("cpu")


def build_precision(wanted: Precision, spec: ModelSpec, device: torch.device) -> str:
    """The name of the format to train in, ``auto`` resolved: bfloat16 where that pays."""
    if wanted is not Precision.auto:
        return wanted.value
    pays = bfloat16_pays(spec, device)
    return Precision["bf16-mixed"].value if pays else Precision.fp32.value
