"""Whether products in bfloat16 are worth their while on a device."""

import time
from statistics import median

import torch
from torch import Tensor

from seq2seq.model.spec import ModelSpec

LEAST_GAIN = 1.3
"""bfloat16 products must be this many times as fast: the rest of a step gains nothing from it."""
LEAST_SIZE = 128
"""Size of the decoder below which products are too small a share of a step to gain by."""
PROBE_ROWS = 256
PROBE_OPERATIONS = 2**28
"""Multiplications and additions of a probed product: milliseconds on any processor."""
PROBE_REPEATS = 3


def bfloat16_pays(spec: ModelSpec, device: torch.device) -> bool:
    """On a GPU that supports it, and on a processor where a probe finds its products faster."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    is_large = spec.decoder_hidden_size >= LEAST_SIZE
    return device.type == "cpu" and is_large and processor_gain(spec) > LEAST_GAIN


def processor_gain(spec: ModelSpec) -> float:
    """How many times as fast a product of the model's own size is in bfloat16, on the CPU."""
    inner = spec.decoder_hidden_size
    columns = min(spec.target_vocabulary_size, PROBE_OPERATIONS // (2 * PROBE_ROWS * inner))
    left, right = torch.ones(PROBE_ROWS, inner), torch.ones(inner, max(columns, 1))
    in_fp32 = _median_seconds(left, right)
    return in_fp32 / _median_seconds(left.bfloat16(), right.bfloat16())


def _median_seconds(left: Tensor, right: Tensor) -> float:
    torch.mm(left, right)  # the first call prepares
    times = []
    for _ in range(PROBE_REPEATS):
        started = time.perf_counter()
        torch.mm(left, right)
        times.append(time.perf_counter() - started)
    return median(times)
