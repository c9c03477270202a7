"""Lines of an endless input, plain or compressed. Needs no torch."""

from collections.abc import Iterator
from typing import BinaryIO

from seq2seq.text.files import TextStream


def stream_lines(stream: BinaryIO) -> Iterator[str]:
    r"""Lines, which end at \n only; bytes that are not UTF-8 are marked.

    They are decompressed where their first bytes say so, as files of a corpus are.

    Raises:
        InputError: the compressed data are damaged, or a line is too long to be one.
    """
    for line in TextStream(stream, "the input"):
        yield line.decode("utf-8", errors="replace").rstrip("\r")
