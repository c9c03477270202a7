"""The number format that a configuration picks."""

import time
from statistics import median

import torch
from torch import Tensor

from seq2seq.config import Precision
from seq2seq.model.spec import ModelSpec

LEAST_GAIN = 1.3
"""bfloat16 products must be this many times as fast: the rest of a step gains nothing from it."""
PROBE_ROWS = 256
PROBE_OPERATIONS = 2**28
"""Multiplications and additions of a probed product: milliseconds on any processor."""
PROBE_REPEATS = 3


def build_precision(wanted: Precision, spec: ModelSpec, device: torch.device) -> str:
    """The name of the format to train in, ``auto`` resolved.

    ``auto`` is bfloat16 on a GPU that supports it, and on a processor where a probe finds its
    products faster.
    """
    if wanted is not Precision.auto:
        return wanted.value
    if device.type == "cuda":
        pays = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        pays = device.type == "cpu" and processor_gain(spec) > LEAST_GAIN
    return Precision["bf16-mixed"].value if pays else Precision.fp32.value


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
