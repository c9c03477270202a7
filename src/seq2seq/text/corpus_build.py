"""Tokenises a large corpus into a folder, in several processes and bounded memory."""

import gc
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from seq2seq.allocator import keep_freed_memory
from seq2seq.errors import InputError
from seq2seq.text.chunk_encoding import EncodingRules, encode_chunk
from seq2seq.text.codec import TextCodec, load_codecs
from seq2seq.text.corpus import Shard
from seq2seq.text.corpus_folder import CorpusWriter, EncodedChunk
from seq2seq.text.shards import Chunk, chunks


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

        The codecs are those that lie in the folder.
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

    The folder has to be empty; `progress` is told how many pairs each step has dealt with.

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
    keep_freed_memory()
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
