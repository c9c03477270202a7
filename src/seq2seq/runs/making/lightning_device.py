"""Where Lightning computes. (Apart from `device`, which what is refused before training needs.)"""

from typing import Any

import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch.strategies import DDPStrategy

from seq2seq.config import DeviceConfig
from seq2seq.training.process_group import ProcessGroup

PRECISIONS = {"fp32": "32-true", "bf16-mixed": "bf16-mixed", "fp16-mixed": "16-mixed"}


def lightning_device(
    config: DeviceConfig, device: torch.device, precision: str, job: ProcessGroup
) -> dict[str, Any]:
    """The device of `build_device` and the precision of `build_precision` for its trainer."""
    # the processes are there, and are told apart by the variables of torchrun
    together = DDPStrategy(cluster_environment=LightningEnvironment()) if job.size > 1 else "auto"
    return {
        "accelerator": {"cuda": "gpu"}.get(device.type, device.type),
        "devices": config.devices,
        "num_nodes": config.num_nodes,
        "strategy": together,
        "precision": PRECISIONS[precision],
    }
