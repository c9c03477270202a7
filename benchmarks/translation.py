"""Sentences a second of the searches of a trained model, whose translations end by themselves.

The textbook's model gets the weights of the trained one, so that both know the same translations.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.memory import peak
from benchmarks.sizes import Size
from benchmarks.textbook import TextbookModel, read_weights, translate_singly
from benchmarks.timing import seconds
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.lengths import DEFAULT_BOUNDS, LengthPenalty
from seq2seq.decoding.model_folder import load_model_folder
from seq2seq.decoding.search import GREEDY, Search, run_search
from seq2seq.errors import InputError
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.model.spec import ModelSpec
from seq2seq.text.batch import SourceBatch
from seq2seq.text.bucketing import BatchSize, sorted_order

BATCH = BatchSize(sentences=None, tokens=4096)
BEAM = Search(beam=5, penalty=LengthPenalty("average"))
SINGLY = 10
"""The textbook translates every so-manyth sentence."""
CPU = torch.device("cpu")

Ids = list[int]
Action = Callable[[], object]


def measure_translation(
    path: Path, sentences: Sequence[str], *, rounds: int, measures_peak: bool
) -> dict[str, Any]:
    """Speeds, and the memory that each search adds to a process.

    Args:
        path: a model or run folder, of a model that the textbook's can be.
        sentences: what to translate, in batches; every `SINGLY`-th one at a time by the textbook.
        rounds: times that every search runs, in turn; the medians count.
        measures_peak: whether memory is measured, in one more process for each search.

    Raises:
        InputError: there is no model, or its parts are not those of the textbook's.
    """
    searches, sources = _searches(path, sentences)
    times: dict[str, list[float]] = {name: [] for name in searches}
    for _ in range(rounds):
        for name, search in searches.items():
            count = len(sources[::SINGLY]) if name == "textbook_greedy" else len(sources)
            times[name].append(seconds(search, CPU) / count)
    measured = searches if measures_peak else ()
    return {
        "sentences_per_second": {name: 1 / float(np.median(t)) for name, t in times.items()},
        "added_bytes": {name: peak_alone(path, sentences, name) for name in measured},
    }


def _searches(path: Path, sentences: Sequence[str]) -> tuple[Mapping[str, Action], list[Ids]]:
    exported = load_model_folder(path)
    textbook = textbook_of(exported.spec, exported.model)
    sources = [exported.source_codec.encode(sentence) for sentence in sentences if sentence.strip()]
    lengths = np.array([len(source) for source in sources], dtype=np.int64)
    batches = [
        SourceBatch.from_sentences([sources[place] for place in places])
        for places in sorted_order(lengths, lengths, BATCH)
    ]
    mixed = partial(torch.autocast, "cpu", torch.bfloat16)
    return {
        "textbook_greedy": lambda: translate_all_singly(textbook, sources[::SINGLY]),
        "greedy": lambda: _in_batches(exported.model, batches, GREEDY, nullcontext),
        "beam5": lambda: _in_batches(exported.model, batches, BEAM, nullcontext),
        "greedy_bf16": lambda: _in_batches(exported.model, batches, GREEDY, mixed),
        "beam5_bf16": lambda: _in_batches(exported.model, batches, BEAM, mixed),
    }, sources


def translate_all_singly(model: TextbookModel, sources: Sequence[Ids]) -> list[Ids]:
    """By the textbook's greedy search, to ``<eos>`` or the bound of our searches."""
    found = []
    for source in sources:
        (encoded,) = SourceBatch.from_sentences([source]).ids
        bound = int(DEFAULT_BOUNDS.greatest(torch.tensor([len(encoded)])))
        found.append(translate_singly(model, encoded, bound, ends=True))
    return found


def _in_batches(
    model: Seq2Seq,
    batches: Sequence[SourceBatch],
    search: Search,
    precision: Callable[[], AbstractContextManager[Any]],
) -> list[list[Hypothesis]]:
    found = []
    for batch in batches:
        with precision():
            found += run_search(model, batch, search, numbers=range(len(batch.lengths)))
    return found


def peak_alone(path: Path, sentences: Sequence[str], name: str) -> int:
    """Greatest bytes that a search adds to the memory of a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_added, path, sentences, name, torch.get_num_threads()).result()


def _added(path: Path, sentences: Sequence[str], name: str, threads: int) -> int:
    torch.set_num_threads(threads)
    searches, _ = _searches(path, sentences)
    before = peak()
    searches[name]()
    return peak() - before


def textbook_of(spec: ModelSpec, model: Seq2Seq) -> TextbookModel:
    """The textbook's model with the weights of a trained one, in its number format.

    Raises:
        InputError: it has other parts.
    """
    size = _size(spec)
    textbook = TextbookModel(size, dropout=0.0, attention_size=spec.attention_size)
    textbook.to(model.decoder.output.weight.dtype).eval()
    read_weights(textbook, model)
    return textbook


def _size(spec: ModelSpec) -> Size:
    size = Size(
        hidden=spec.decoder_hidden_size,
        num_layers=spec.num_layers,
        bidirectional=spec.bidirectional,
        vocabulary=spec.target_vocabulary_size,
        sentences=1,
    )
    hidden = {spec.embedding_size, spec.encoder_hidden_size, size.hidden}
    vocabulary = {spec.source_vocabulary_size, size.vocabulary}
    parts = (spec.score, spec.readout_size, spec.tying, spec.initial_state)
    if len(hidden) > 1 or len(vocabulary) > 1 or parts != ("additive", None, "none", "encoder"):
        raise InputError(
            "--model: the textbook's model has layers of one size, additive attention, no deep "
            "readout and nothing tied: train one with recipe=textbook and a joint vocabulary"
        )
    return size
