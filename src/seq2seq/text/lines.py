"""Lines of an endless input, plain or compressed. Needs no torch."""

import io
from collections.abc import Iterator
from typing import BinaryIO

from seq2seq.errors import InputError
from seq2seq.text.files import DAMAGE, LONGEST_MAGIC, compression


def stream_lines(stream: BinaryIO) -> Iterator[str]:
    r"""Lines, which end at \n only; bytes that are not UTF-8 are marked.

    Args:
        stream: decompressed where its first bytes say so, as files of a corpus are.

    Raises:
        InputError: the compressed data are damaged.
    """
    if not isinstance(stream, io.BufferedReader):
        stream = io.BufferedReader(stream)  # type: ignore[type-var]
    compressed = compression(stream.peek(LONGEST_MAGIC))
    if compressed is None:
        yield from map(_text, stream)
        return
    kind, opener = compressed
    try:
        yield from map(_text, opener(stream))
    except DAMAGE as error:
        raise InputError(f"the input is damaged {kind} ({error}): fetch it again") from error


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").rstrip("\r\n")
