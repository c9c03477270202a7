"""The names of devices, and which a machine surely lacks; PyTorch, which knows more, is not loaded for this."""

import os
import re
import sys
from typing import Annotated

from seq2seq.common.errors import InputError

GPU_FILES = "/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/kfd", "/dev/dxg"
"""One of these exists on Linux where there is a driver of NVIDIA or AMD."""


def is_missing(kind: str) -> bool:
    """Return whether this machine has no device of a kind, ``gpu``, ``cuda`` or ``mps``; False where that is not sure."""
    if kind == "mps":
        return sys.platform != "darwin"
    return kind in ("gpu", "cuda") and sys.platform == "linux" and not any(map(os.path.exists, GPU_FILES))


def device_name(text: str) -> str:
    """Return PyTorch's name of a device; ``gpu`` is one of ``cuda``.

    Raises:
        InputError: There is no such kind of device, or this machine has none.
    """
    name = re.sub("^gpu", "cuda", text)
    if not re.fullmatch(r"cpu|mps|cuda(:\d+)?", name):
        raise InputError(f"device {text!r}: choose cpu, cuda or mps")
    if is_missing(name.partition(":")[0]):
        raise InputError(f"device {text!r}: this machine has no such device; choose cpu")
    return name


Device = Annotated[str, "DEVICE", device_name]
"""An option of commands."""
