"""Training speed of all variants over the same batches, and what the products alone would take."""

from typing import Any

import numpy as np
import torch

from benchmarks.baselines import Recurrences, build_baselines
from benchmarks.batches import training_batches
from benchmarks.products import Products
from benchmarks.sizes import Size
from benchmarks.timing import Spread, Times, alternate
from benchmarks.variants import build_models, build_variants
from seq2seq.text.batch import Batch


def measure_training(
    size: Size, *, count: int, rounds: int, bucketed: bool, device: torch.device
) -> dict[str, Any]:
    """Tokens a second, ratios to the textbook's, and the products' share, over `count` batches."""
    on_host = training_batches(size, count, bucketed=bucketed)
    batches = [batch.to(device) for batch in on_host]
    times = alternate(_steps(size, batches, device), batches, rounds=rounds, device=device)
    num_tokens = np.array([int(batch.target_lengths.sum()) for batch in on_host])
    return _summary(times, num_tokens) | {"padding_share": _padding_share(on_host)}


def _steps(size: Size, batches: list[Batch], device: torch.device) -> dict[str, Any]:
    models = build_models(size, device)
    variants = {**build_variants(models)}
    steps: dict[str, Any] = {}
    if device.type == "cuda":
        variants |= build_baselines(size, device)
        recurrences = Recurrences(size, models)
        steps |= {"recurrence_fused": recurrences.fused, "recurrence_bare": recurrences.bare}
    steps |= {name: variant.step for name, variant in variants.items()}
    for name, dtype in {"fp32": torch.float32, "bf16": torch.bfloat16}.items():
        steps[f"products_{name}"] = Products(size, batches, dtype, device).run
    return steps


def _summary(times: dict[str, Times], num_tokens: Times) -> dict[str, Any]:
    """Ratios are of steps on the same batch in the same round."""
    textbook = times["textbook"]
    shares = {
        name: Spread.of(times[f"products_{name}"] / times[f"fused_{name}"]).as_dict()
        for name in ("fp32", "bf16")
    }
    ratios = {
        f"{name}_over_textbook": Spread.of(textbook / taken).as_dict()
        for name, taken in times.items()
        if not name.startswith(("products", "recurrence")) and name != "textbook"
    }
    result: dict[str, Any] = {
        "tokens_per_second": {
            name: Spread.of(num_tokens / taken).as_dict() for name, taken in times.items()
        },
        "ratios": ratios,
        "product_limit_share": shares,
    }
    if "recurrence_bare" in times:
        result["fused_over_bare_gru_time"] = Spread.of(
            times["recurrence_fused"] / times["recurrence_bare"]
        ).as_dict()
        result["fused_over_mean_time"] = Spread.of(
            times["fused_fp32"] / times["mean_for_attention"]
        ).as_dict()
    return result


def _padding_share(batches: list[Batch]) -> float:
    """Share of source and target positions that hold no token."""
    places = sum(batch.source.ids.numel() + batch.target_input.numel() for batch in batches)
    tokens = sum(int(batch.source.lengths.sum() + batch.target_lengths.sum()) for batch in batches)
    return 1 - tokens / places
