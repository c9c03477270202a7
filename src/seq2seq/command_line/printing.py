"""Printing that ends nothing: a program may outlive its terminal, and who reads what it says."""

import io
import os
import sys
from typing import Any


def print_while_read() -> None:
    """From now on, what standard output and error cannot take goes nowhere; the rest at once.

    A pipe whose reader has ended, a terminal that was closed, a disk that is full. Lines are
    not held back: of a training that writes to a file each epoch can be read when it has ended.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if _is_of_a_file(stream):
            stream.flush()
            setattr(sys, name, _forgiving(stream))


def take_any_name() -> None:
    """From now on standard output takes names of files that are no text, with escapes."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _is_of_a_file(stream: Any) -> bool:
    """Not closed before the start (None), nor what a notebook or a test put in its place."""
    binary = getattr(stream, "buffer", None)
    return isinstance(getattr(binary, "raw", binary), io.FileIO)


def _forgiving(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(_WhileRead(stream)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=True,
        write_through=stream.write_through,
    )


class _WhileRead(io.FileIO):
    """The file of a stream, which it keeps open."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream.fileno(), "w", closefd=False)
        self._stream = stream

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError:
            discard(self.fileno())
            return len(content)


def discard(descriptor: int) -> None:
    """What is written to a descriptor goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
