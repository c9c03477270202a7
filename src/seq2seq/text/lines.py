"""Lines of an endless input, plain or gzip. Needs no torch."""

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from seq2seq.errors import InputError
from seq2seq.text.files import GZIP_MAGIC


def read_lines(stream: BinaryIO) -> Iterator[str]:
    r"""Lines, which end at \n only; bytes that are not UTF-8 are marked.

    Args:
        stream: gzip where its first bytes say so.

    Raises:
        InputError: the gzip data are damaged.
    """
    if not isinstance(stream, io.BufferedReader):
        stream = io.BufferedReader(stream)  # type: ignore[type-var]
    is_gzip = stream.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
    try:
        for line in gzip.GzipFile(fileobj=stream) if is_gzip else stream:
            yield line.decode("utf-8", errors="replace").rstrip("\r\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"the input is damaged gzip ({error}): fetch it again") from error
