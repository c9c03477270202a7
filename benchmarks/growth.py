"""How the cost of a training step grows with the lengths of source and target."""

from collections.abc import Sequence

import numpy as np
import torch

from benchmarks.batches import even_batch
from benchmarks.sizes import Size
from benchmarks.timing import alternate
from benchmarks.variants import build_models, fused_loss
from seq2seq.text.batch import Batch

Table = dict[str, dict[int, float]]
"""Milliseconds by length, of ``source`` and of ``target``."""


def growth_table(
    size: Size,
    lengths: Sequence[int],
    *,
    held: int,
    sentences: int,
    rounds: int,
    device: torch.device,
) -> Table:
    """Median milliseconds of forward and backward, one side's length held."""
    model = build_models(size, device).project

    def step(batch: Batch) -> None:
        fused_loss(model, batch).backward()

    table: Table = {}
    for side in ("source", "target"):
        batches = [
            even_batch(
                sentences,
                length if side == "source" else held,
                length if side == "target" else held,
                size.vocabulary,
            ).to(device)
            for length in lengths
        ]
        times = alternate({"step": step}, batches, rounds=rounds, device=device)["step"]
        medians = np.median(times, axis=0) * 1000
        table[side] = dict(zip(lengths, medians.tolist(), strict=True))
    return table


def slope_ratio(costs: dict[int, float]) -> float:
    """Cost of a position behind the last length but one, over that before it: 1 where linear."""
    (a, cost_a), *_, (b, cost_b), (c, cost_c) = costs.items()
    return (cost_c - cost_b) / (c - b) * (b - a) / (cost_b - cost_a)
