"""Tokenises a large corpus into a folder, in several processes and bounded memory."""

import gc
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, compress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from seq2seq.errors import InputError
from seq2seq.text.codec import TextCodec, load_codecs
from seq2seq.text.corpus import Shard
from seq2seq.text.corpus_folder import (
    LONGEST,
    CorpusWriter,
    EncodedChunk,
    EncodedTexts,
    id_type,
)
from seq2seq.text.shards import Chunk, chunks, is_held_out
from seq2seq.text.vocabulary import UNKNOWN_ID


@dataclass(frozen=True, slots=True)
class EncodingRules:
    """Which pairs are kept, and what of them.

    Attributes:
        max_length: tokens; longer pairs are dropped; None for what a folder can hold.
        truncate: cut the sentences of longer pairs instead.
        held_out: share of the source sentences whose pairs are held out.
        keep_text: keep the text too.
    """

    max_length: int | None
    truncate: bool
    held_out: float
    keep_text: bool


def encode_chunk(
    chunk: Chunk, codecs: tuple[TextCodec, TextCodec], rules: EncodingRules
) -> EncodedChunk:
    """Tokenise the pairs of a chunk; `store.encode_split` does the same in memory.

    Raises:
        InputError: a line is not UTF-8.
    """
    texts: tuple[list[Any], ...] = chunk.texts()
    num_blank = 0
    if not all(all(map(str.strip, side)) for side in texts):
        is_filled = [bool(s.strip() and t.strip()) for s, t in zip(*texts, strict=True)]
        texts, num_blank = _chosen(texts, is_filled)
    held_out: list[tuple[str, str]] = []
    if rules.held_out:
        is_held = [is_held_out(source, rules.held_out) for source in texts[0]]
        held_out = list(zip(*_chosen(texts, is_held)[0], strict=True))
        texts, _ = _chosen(texts, [not held for held in is_held])
    ids = tuple(codec.encode_all(side) for codec, side in zip(codecs, texts, strict=True))
    bound = min(rules.max_length or LONGEST, LONGEST)
    if rules.truncate and rules.max_length is not None:
        ids = tuple([sentence[:bound] for sentence in side] for side in ids)
    fits = [len(s) <= bound and len(t) <= bound for s, t in zip(*ids, strict=True)]
    ids, num_long = _chosen(ids, fits)
    texts, _ = _chosen(texts, fits)
    source, target = (
        _packed(*side, keep_text=rules.keep_text) for side in zip(codecs, ids, texts, strict=True)
    )
    return EncodedChunk(source, target, held_out, num_blank, num_long)


def _chosen(sides: tuple[list[Any], ...], chosen: list[bool]) -> tuple[tuple[list[Any], ...], int]:
    """What is chosen of each side, and how much is not."""
    if all(chosen):
        return sides, 0
    kept = tuple(list(compress(side, chosen)) for side in sides)
    return kept, len(chosen) - len(kept[0])


def _packed(
    codec: TextCodec, sentences: list[list[int]], texts: list[str], *, keep_text: bool
) -> EncodedTexts:
    lengths = np.fromiter(map(len, sentences), np.uint16, count=len(sentences))
    count = int(lengths.sum(dtype=np.int64))
    ids = np.fromiter(chain.from_iterable(sentences), id_type(codec), count=count)
    raw = [text.encode("utf-8") for text in texts] if keep_text else []
    return EncodedTexts(
        ids=ids,
        lengths=lengths,
        num_unknown=int(np.count_nonzero(ids == UNKNOWN_ID)),
        text=b"".join(raw),
        text_lengths=np.fromiter(map(len, raw), np.uint32, count=len(raw)),
    )


class Encoders:
    """Processes that tokenise, which start to load their modules at once.

    They end with the block that this is the context of.

    Args:
        count: of processes; with 1 the calling process tokenises.
    """

    def __init__(self, count: int) -> None:
        self._ends = ExitStack()
        self._idle: deque[Connection] = deque()
        context = get_context("spawn")  # a copy of a process with threads could hang
        for _ in range(count if count > 1 else 0):
            here, there = context.Pipe()
            process = context.Process(target=_encode_chunks, args=(there,), daemon=True)
            process.start()
            there.close()
            self._ends.callback(process.join)
            self._idle.append(self._ends.enter_context(here))

    def __enter__(self) -> "Encoders":
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()  # our ends of the pipes too, which ends the processes

    def encode(
        self,
        read: Iterable[Chunk],
        codecs: tuple[TextCodec, TextCodec],
        codec_folder: Path,
        rules: EncodingRules,
    ) -> Iterator[tuple[EncodedChunk, int]]:
        """Encoded chunks in order, with the number of lines of each.

        Args:
            read: the chunks.
            codecs: of source and target.
            codec_folder: where they are saved.
            rules: which pairs are kept.
        """
        if not self._idle:
            yield from ((encode_chunk(chunk, codecs, rules), chunk.num_lines) for chunk in read)
            return
        for connection in self._idle:
            _send(connection, (codec_folder, rules))
        working: deque[tuple[Connection, int]] = deque()
        for chunk in read:  # each process has one to work on, and they are served in turn
            result = None
            if self._idle:
                connection = self._idle.popleft()
            else:
                connection, num_lines = working.popleft()
                result = _received(connection), num_lines
            _send(connection, chunk)
            working.append((connection, chunk.num_lines))
            if result is not None:
                yield result
        for connection, num_lines in working:
            yield _received(connection), num_lines


def build_corpus_folder(
    folder: Path,
    shards: Sequence[Shard],
    codecs: tuple[TextCodec, TextCodec],
    rules: EncodingRules,
    *,
    encoders: Encoders,
    progress: Callable[[int], None],
) -> None:
    """Tokenise all pairs of some files into a folder.

    The folder is the same whatever the number of processes.

    Args:
        folder: an empty folder.
        shards: the files.
        codecs: of source and target.
        rules: which pairs are kept.
        encoders: who tokenises.
        progress: told how many pairs each step has dealt with.

    Raises:
        InputError: a file is wrong.
    """
    was_enabled = gc.isenabled()
    gc.disable()  # see _encode_chunks
    writer = CorpusWriter(folder, codecs, keep_text=rules.keep_text)
    try:
        for chunk, num_lines in encoders.encode(
            chunks(shards), codecs, folder / "tokenizer", rules
        ):
            writer.append(chunk)
            progress(num_lines)
        writer.seal()
    except BaseException:
        writer.abandon()
        raise
    finally:
        if was_enabled:
            gc.enable()


def _send(connection: Connection, work: Any) -> None:
    try:
        connection.send(work)
    except OSError as error:
        raise _lost_process() from error


def _received(connection: Connection) -> EncodedChunk:
    try:
        result = connection.recv()
    except (EOFError, OSError) as error:
        raise _lost_process() from error
    if isinstance(result, InputError):
        raise result
    return result


def _lost_process() -> InputError:
    return InputError(
        "a process that tokenised the corpus has ended (killed, perhaps for want of memory): "
        "start again"
    )


def _encode_chunks(connection: Connection) -> None:
    """Encode what is sent until the other end is closed, be it by the end of that process.

    What comes first are the folder of the codecs and the rules.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other end decides
    # millions of small lists and no cycle among them: looking for one takes a third of the time
    gc.disable()
    try:
        try:
            codec_folder, rules = connection.recv()
            codecs = load_codecs(codec_folder)
            while True:
                connection.send(encode_chunk(connection.recv(), codecs, rules))
        except InputError as error:
            connection.send(error)
    except (EOFError, OSError):  # the other end is closed
        return


def num_cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
