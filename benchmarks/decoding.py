"""Sentences a second of the searches.

Untrained models do not know when to end. Every translation is therefore made as long as its source,
in all searches: nothing ends earlier, and beam search follows all its hypotheses to the end.
"""

from collections.abc import Callable

import numpy as np
import torch

from benchmarks.batches import draw_lengths, split_of
from benchmarks.sizes import Size
from benchmarks.textbook import translate_singly
from benchmarks.timing import seconds
from benchmarks.variants import Models, build_models
from seq2seq.decoding.beam import beam_search
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.lengths import LengthBounds
from seq2seq.text.batch import SourceBatch
from seq2seq.text.bucketing import BatchSize, sorted_order

AS_LONG_AS_SOURCE = LengthBounds(min_factor=1.0, max_factor=1.0, max_extra=0)
BATCH = BatchSize(sentences=128, tokens=None)
BEAM = 5


def decoding_speeds(
    size: Size, *, decoded: int, decoded_singly: int, rounds: int, device: torch.device
) -> dict[str, float]:
    """Median sentences a second: the textbook's greedy search one by one, and ours in batches."""
    models = build_models(size, device)
    for model in (models.textbook, models.project):
        model.eval()
    singly = _sources(size, decoded_singly, device, batched=False)
    batches = _sources(size, decoded, device, batched=True)
    searches: dict[str, tuple[int, Callable[[], object]]] = {
        "textbook_greedy": (decoded_singly, lambda: _singly(models, singly)),
        "greedy": (decoded, lambda: _greedy(models, batches)),
        f"beam{BEAM}": (decoded, lambda: _beam(models, batches)),
        f"beam{BEAM}_bf16": (decoded, lambda: _mixed(models, batches)),
    }
    times: dict[str, list[float]] = {name: [] for name in searches}
    for _ in range(rounds):
        for name, (count, search) in searches.items():
            times[name].append(seconds(search, device) / count)
    return {name: 1 / float(np.median(taken)) for name, taken in times.items()}


def _sources(size: Size, count: int, device: torch.device, *, batched: bool) -> list[SourceBatch]:
    lengths, _ = draw_lengths(count, seed=2)
    split = split_of(lengths, lengths, size.vocabulary)
    bound = BATCH if batched else BatchSize(sentences=1, tokens=None)
    order = sorted_order(lengths, lengths, bound)
    return [
        SourceBatch.from_sentences([split.source[index] for index in batch]).to(device)
        for batch in order
    ]


def _singly(models: Models, sources: list[SourceBatch]) -> None:
    for source in sources:
        translate_singly(models.textbook, source.ids[0], int(source.lengths[0]))


def _greedy(models: Models, batches: list[SourceBatch]) -> None:
    for batch in batches:
        greedy_search(models.project, batch, bounds=AS_LONG_AS_SOURCE)


def _beam(models: Models, batches: list[SourceBatch]) -> None:
    for batch in batches:
        beam_search(models.project, batch, size=BEAM, bounds=AS_LONG_AS_SOURCE)


def _mixed(models: Models, batches: list[SourceBatch]) -> None:
    with torch.autocast(models.project.device.type, torch.bfloat16):
        _beam(models, batches)
