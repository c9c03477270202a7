"""Memory: what a forward pass keeps for the backward pass."""

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.batches import even_batch
from benchmarks.sizes import Size
from benchmarks.variants import Variant, build_models, build_variants
from seq2seq.text.batch import Batch


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
