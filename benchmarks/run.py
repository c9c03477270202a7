"""A whole benchmark: a plan in, figures and their text out."""

from typing import Any

import torch

from benchmarks.decoding import untrained_speeds
from benchmarks.memory import kept_by_variant
from benchmarks.sizes import Plan, Size
from benchmarks.training import measure_training

Results = dict[str, Any]


def run_benchmark(plan: Plan, device: torch.device) -> Results:
    """Measure everything of a plan; the top level holds the ratios of its first size."""
    main = plan.sizes[0]
    training = {size.name: _training(size, plan, device) for size in plan.sizes}
    kept = kept_by_variant(main, plan.kept_length, device)
    speeds = untrained_speeds(main, count=plan.decoded, rounds=plan.other_rounds, device=device)
    return _main_ratios(training[main.name]) | {
        "activation_ratio": kept["fused_fp32"] / kept["textbook"],
        "activation_ratio_bf16": kept["fused_bf16"] / kept["textbook"],
        **_decoding_ratios(speeds),
        "machine": machine(device),
        "training": training,
        "kept_bytes": kept,
        "sentences_per_second": speeds,
    }


def _training(size: Size, plan: Plan, device: torch.device) -> Results:
    return {
        kind: measure_training(
            size, count=plan.batches, rounds=plan.rounds, bucketed=kind == "bucketed", device=device
        )
        for kind in ("shuffled", "bucketed")
    }


def _main_ratios(training: Results) -> Results:
    """Medians over shuffled batches, and over bucketed ones with a suffix."""
    found: Results = {}
    for kind, suffix in {"shuffled": "", "bucketed": "_bucketed"}.items():
        measured = training[kind]
        ratios = {name: spread["median"] for name, spread in measured["ratios"].items()}
        shares = measured["product_limit_share"]
        ratios["product_limit_share"] = shares["fp32"]["median"]
        ratios["product_limit_share_bf16"] = shares["bf16"]["median"]
        found |= {f"{name}{suffix}": value for name, value in ratios.items()}
    return found


def _decoding_ratios(speeds: dict[str, float]) -> Results:
    textbook = speeds["textbook_greedy"]
    return {
        f"{name}_over_textbook_greedy": speed / textbook
        for name, speed in speeds.items()
        if name != "textbook_greedy"
    }


def machine(device: torch.device) -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    }
