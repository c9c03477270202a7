"""What a large corpus costs: making its store, opening it, and reading batches from it."""

import gc
import resource
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.process_memory import watched
from benchmarks.scale_corpus import write_corpus
from benchmarks.sizes import Size
from benchmarks.variants import build_models, build_variants
from seq2seq.errors import InputError
from seq2seq.text.batch import Batch
from seq2seq.text.bucketing import BatchSize, ShuffledOrders, padding_share
from seq2seq.text.chunk_encoding import EncodingRules
from seq2seq.text.codec import CodecSettings, load_codec
from seq2seq.text.corpus import SentencePair, Shard
from seq2seq.text.corpus_build import num_cores
from seq2seq.text.corpus_store import Part, Recipe, open_corpus
from seq2seq.text.loader import BatchLoader
from seq2seq.text.shards import first_pairs, num_bytes
from seq2seq.text.stored_corpus import StoredCorpus
from seq2seq.text.tokenizers import SubwordTokenizer

LIBRARY_PAIRS = 200_000
"""Pairs that each process has the library tokenise alone."""

LIBRARY_CALL = 4096
"""Sentences that the library is given at a time."""

LOADED_BATCHES = 2000
TRAINED_BATCHES = 8
SENTENCES = 64
VOCABULARY = 8000
HIDDEN = 256
"""Of the model whose training the loader is compared with."""

Shards = tuple[Shard, ...]


class Phases:
    """Notes when the parts of a build begin."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.processor: dict[str, float] = {}

    def begin(self, part: Part, line: str, num_pairs: int | None = None) -> None:  # noqa: ARG002
        """A part begins."""
        self.began[part] = time.perf_counter()
        self.processor[part] = processor_seconds()

    def advance(self, num_pairs: int) -> None:
        """Some more are tokenised."""


def processor_seconds() -> float:
    """Time that processors have spent on this process and on those it started that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def measure_scale(folder: Path, pairs: list[SentencePair], count: int) -> dict[str, Any]:
    """All costs of a corpus of `count` pairs, made of the given ones, each in fresh processes.

    What is written into `folder` is removed again.
    """
    with TemporaryDirectory(dir=folder, prefix="scale-") as scratch:
        text, root = Path(scratch) / "text", Path(scratch) / "store"
        text.mkdir()
        shards = write_corpus(text, pairs, count)
        (built,) = _in_processes(1, _build, root, shards)
        library = _library(root, shards)
        (warm,) = _in_processes(1, _read, root, shards)
        return {
            "pairs": count,
            "text_bytes": num_bytes(shards),
            "store_bytes": sum(path.stat().st_size for path in root.rglob("*") if path.is_file()),
            "processes": num_cores(),
            **built,
            **library,
            **warm,
            "share": count / built["encoding_seconds"] / library["library_pairs_per_second"],
            "processor_share": count
            / built["encoding_processor_seconds"]
            * library["library_processor_seconds_per_pair"],
        }


def _in_processes(count: int, measure: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What a function gives in each of several new processes, which end with this one."""
    context = get_context("spawn")
    ends, processes = [], []
    try:
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(target=_answer, args=(there, measure, arguments))
            process.start()
            there.close()
            ends.append(here)
            processes.append(process)
        return [here.recv() for here in ends]
    except EOFError as error:
        raise InputError("a process that measures has failed; see above") from error
    finally:
        for process in processes:
            process.kill()  # it has answered, or nobody waits for its answer
            process.join()


def _answer(there: Connection, measure: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    there.send(measure(*arguments))


def _open(root: Path, shards: Shards, report: Phases) -> StoredCorpus:
    """As training opens it."""
    settings = CodecSettings("unigram", "unigram", False, True, 1, VOCABULARY)
    rules = EncodingRules(100, truncate=False, held_out=0.0, split_seed=1, keep_text=False)
    recipe = Recipe(shards, ("en", "fr"), settings, None, rules)
    return open_corpus(root, recipe, report=report, num_processes=num_cores())


def _build(root: Path, shards: Shards) -> dict[str, float]:
    phases = Phases()
    with watched() as peak:
        _open(root, shards, phases)
        ended, processor = time.perf_counter(), processor_seconds()
    began, used = phases.began, phases.processor
    return {
        "sampling_processor_seconds": used["training"] - used["sampling"],
        "tokenizer_processor_seconds": used["tokenising"] - used["training"],
        "sampling_seconds": began["training"] - began["sampling"],
        "tokenizer_seconds": began["tokenising"] - began["training"],
        "encoding_seconds": ended - began["tokenising"],
        "encoding_processor_seconds": processor - used["tokenising"],
        "build_seconds": ended - began["sampling"],
        "peak_bytes": peak.resident,
    }


def _library(root: Path, shards: Shards) -> dict[str, float]:
    """The tokenizer library's own rate: as many processes, given lists of sentences in memory."""
    (codecs,) = root.glob("*/corpus/tokenizer")
    count = num_cores()
    barrier = get_context("spawn").Barrier(count)
    found = _in_processes(count, _tokenise, shards, codecs, barrier)
    num_pairs = found[0][0]
    return {
        "library_pairs_per_second": count * num_pairs / max(seconds for _, seconds, _ in found),
        "library_processor_seconds_per_pair": sum(used for *_, used in found) / count / num_pairs,
    }


def _tokenise(shards: Shards, codecs: Path, barrier: Any) -> tuple[int, float, float]:
    tokenizer = load_codec(codecs, "source").tokenizer
    assert isinstance(tokenizer, SubwordTokenizer)
    pairs = first_pairs(shards, LIBRARY_PAIRS)
    sentences = [text for pair in pairs for text in (pair.source, pair.target)]
    calls = [sentences[i : i + LIBRARY_CALL] for i in range(0, len(sentences), LIBRARY_CALL)]
    encode = tokenizer.model.encode
    gc.disable()  # as the build does
    barrier.wait()
    started, used = time.perf_counter(), time.process_time()
    for call in calls:
        encode(call, out_type=int, num_threads=1)
    return len(pairs), time.perf_counter() - started, time.process_time() - used


def _read(root: Path, shards: Shards) -> dict[str, float]:
    """From a store that is there to the first batch, then on; and what training would read."""
    with watched() as peak:
        started = time.perf_counter()
        train = _open(root, shards, Phases()).train
        opened = time.perf_counter()
        size = BatchSize(sentences=SENTENCES, tokens=None)
        orders = ShuffledOrders(train.source.lengths, train.target.lengths, size, seed=1)
        loader = BatchLoader(train, orders, lambda: 0)
        batches = iter(loader)
        kept = [next(batches)]
        first = time.perf_counter()
        num_batches = min(LOADED_BATCHES, len(loader)) - 1
        num_tokens = 0
        for number in range(num_batches):
            batch = next(batches)
            num_tokens += int(batch.target_lengths.sum())
            if number < TRAINED_BATCHES:
                kept.append(batch)
        loaded = time.perf_counter()
    loader_rate = num_tokens / (loaded - first)
    training_rate = _training_rate(kept, VOCABULARY)
    order = orders(0)
    return {
        "open_seconds": opened - started,
        "first_batch_seconds": first - started,
        "private_bytes": peak.private_growth,
        "loader_tokens_per_second": loader_rate,
        "training_tokens_per_second": training_rate,
        "loader_over_training": loader_rate / training_rate,
        "padding_share": max(
            padding_share(side.lengths + np.uint16(1), order)
            for side in (train.source, train.target)
        ),
    }


def _training_rate(batches: list[Batch], vocabulary: int) -> float:
    """Target tokens a second of whole training steps of a small model, after a first one."""
    size = Size.parse(f"H{HIDDEN}-L1bi-V{vocabulary}-B{SENTENCES}")
    variant = build_variants(build_models(size, torch.device("cpu")))["fused_fp32"]
    variant.step(batches[0])
    started = time.perf_counter()
    for batch in batches[1:]:
        variant.step(batch)
    num_tokens = sum(int(batch.target_lengths.sum()) for batch in batches[1:])
    return num_tokens / (time.perf_counter() - started)
