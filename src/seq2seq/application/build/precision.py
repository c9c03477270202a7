"""The number format that a configuration picks."""

import torch

from seq2seq.config import Precision
from seq2seq.model.probe import bfloat16_pays
from seq2seq.model.spec import ModelSpec


def build_precision(wanted: Precision, spec: ModelSpec, device: torch.device) -> str:
    """The name of the format to train in, ``auto`` resolved: bfloat16 where that pays."""
    if wanted is not Precision.auto:
        return wanted.value
    pays = bfloat16_pays(spec, device)
    return Precision["bf16-mixed"].value if pays else Precision.fp32.value
