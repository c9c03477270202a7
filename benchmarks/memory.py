"""Memory: what a forward pass keeps for the backward pass, and a process's peak."""

import re
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.batches import even_batch, training_batches
from benchmarks.sizes import Size
from benchmarks.variants import Variant, build_models, build_variants
from seq2seq.text.batch import Batch

PEAK_STEPS = 2


def kept_bytes(variant: Variant, batch: Batch) -> int:
    """Bytes allocated, and not freed again, between the start of forward and the loss."""
    variant.model.zero_grad()
    if batch.source.ids.is_cuda:
        before = torch.cuda.memory_allocated()
        loss = variant.loss(batch)
        return torch.cuda.memory_allocated() - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        loss = variant.loss(batch)
    events = profiler.key_averages()
    del loss  # until here it held the graph
    return sum(event.self_cpu_memory_usage for event in events)


def kept_by_variant(size: Size, length: int, device: torch.device) -> dict[str, int]:
    """`kept_bytes` at S = T = `length`."""
    batch = even_batch(size.sentences, length, length, size.vocabulary).to(device)
    variants = build_variants(build_models(size, device))
    return {name: kept_bytes(variant, batch) for name, variant in variants.items()}


def peak_by_variant(size: Size, names: list[str]) -> dict[str, int]:
    """Greatest bytes that two steps add to a process's memory, a process for each variant."""
    found = {}
    for name in names:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found[name] = pool.submit(_added_by_steps, size, name).result()
    return found


def _added_by_steps(size: Size, name: str) -> int:
    variant = build_variants(build_models(size, torch.device("cpu")))[name]
    batches = training_batches(size, PEAK_STEPS, bucketed=False)
    before = peak()
    for batch in batches:
        variant.step(batch)
    return peak() - before


def peak() -> int:
    """Greatest resident memory of this process so far, in bytes."""
    # Linux counts the parent's memory before exec among a child's greatest, but not here
    status = Path("/proc/self/status")
    if status.is_file():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text("ascii"))
        if found is not None:
            return int(found[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
