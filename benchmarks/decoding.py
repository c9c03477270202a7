"""Sentences a second of the searches: of a trained model, or of untrained ones of any size.

Untrained models do not know when to end. Every translation is therefore made as long as its source,
in all searches: nothing ends earlier, and beam search follows all its hypotheses to the end. Those
of a trained model end by themselves; the textbook's model gets its weights, so that both know the
same translations.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.batches import draw_lengths, split_of
from benchmarks.sizes import Size
from benchmarks.textbook import TextbookModel, textbook_of, translate_singly
from benchmarks.timing import seconds
from benchmarks.variants import Models, build_models
from seq2seq.decoding.beam import beam_search
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.lengths import DEFAULT_BOUNDS, LengthBounds, LengthPenalty
from seq2seq.decoding.model_folder import load_model_folder
from seq2seq.text.batch import SourceBatch
from seq2seq.text.bucketing import BatchSize, sorted_order

AS_LONG_AS_SOURCE = LengthBounds(min_factor=1.0, max_factor=1.0, max_extra=0)
BEAM = 5
PENALTY = LengthPenalty("average")
PRUNE = 3.0
"""Nats; see `beam_search`."""
SINGLY = 10
"""The textbook translates every so-manyth sentence."""

Ids = list[int]


def untrained_speeds(
    size: Size, *, count: int, rounds: int, device: torch.device
) -> dict[str, float]:
    """Median sentences a second for sentences of random tokens."""
    lengths, _ = draw_lengths(count, seed=2)
    split = split_of(lengths, lengths, size.vocabulary)
    sources = [split.source[place].tolist() for place in range(count)]
    size_of_batch = BatchSize(sentences=128, tokens=None)
    models = build_models(size, device)
    return _speeds(models, sources, size_of_batch, AS_LONG_AS_SOURCE, rounds, device)


def trained_speeds(path: Path, sentences: Sequence[str], *, rounds: int) -> dict[str, float]:
    """Median sentences a second of an exported model on the CPU.

    Raises:
        InputError: there is no model, or its parts are not those of the textbook's.
    """
    exported = load_model_folder(path)
    models = Models(textbook_of(exported.spec, exported.model), exported.model)
    sources = [exported.source_codec.encode(sentence) for sentence in sentences if sentence.strip()]
    size_of_batch = BatchSize(sentences=None, tokens=4096)
    return _speeds(models, sources, size_of_batch, DEFAULT_BOUNDS, rounds, torch.device("cpu"))


def _speeds(
    models: Models,
    sources: list[Ids],
    size_of_batch: BatchSize,
    bounds: LengthBounds,
    rounds: int,
    device: torch.device,
) -> dict[str, float]:
    """The textbook's greedy search one by one, and ours in batches."""
    project = models.project.eval()
    models.textbook.eval()
    lengths = np.array([len(source) for source in sources], dtype=np.int64)
    batches = [
        SourceBatch.from_sentences([sources[place] for place in places]).to(device)
        for places in sorted_order(lengths, lengths, size_of_batch)
    ]

    def greedy() -> None:
        for batch in batches:
            greedy_search(project, batch, bounds=bounds)

    def beam(prune: float | None = None) -> None:
        for batch in batches:
            beam_search(project, batch, size=BEAM, penalty=PENALTY, bounds=bounds, prune=prune)

    def mixed(search: Callable[[], None]) -> None:
        with torch.autocast(device.type, torch.bfloat16):
            search()

    alone = sources[::SINGLY]
    searches: dict[str, tuple[int, Callable[[], object]]] = {
        "textbook_greedy": (
            len(alone),
            lambda: translate_all_singly(models.textbook, alone, bounds, device),
        ),
        "greedy": (len(sources), greedy),
        f"beam{BEAM}": (len(sources), beam),
        "greedy_bf16": (len(sources), lambda: mixed(greedy)),
        f"beam{BEAM}_bf16": (len(sources), lambda: mixed(beam)),
        f"beam{BEAM}_bf16_pruned": (len(sources), lambda: mixed(lambda: beam(PRUNE))),
    }
    times: dict[str, list[float]] = {name: [] for name in searches}
    for _ in range(rounds):
        for name, (count, search) in searches.items():
            times[name].append(seconds(search, device) / count)
    return {name: 1 / float(np.median(taken)) for name, taken in times.items()}


def translate_all_singly(
    model: TextbookModel, sources: Sequence[Ids], bounds: LengthBounds, device: torch.device
) -> list[Ids]:
    """By the textbook's greedy search, to ``<eos>`` where that may come, or the greatest length."""
    found = []
    for source in sources:
        batch = SourceBatch.from_sentences([source]).to(device)
        greatest = int(bounds.greatest(batch.lengths))
        ends = not bounds.min_factor
        found.append(translate_singly(model, batch.ids[0], greatest, ends=ends))
    return found
