"""JSON that anybody may have written, read into typed structures.

A type says what a file may hold: `msgspec` compares the two while it reads, and bounds of numbers,
lengths and nesting are part of the type. What does not fit is one line that names file and field.
"""

import errno
import json
import os
import stat
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from seq2seq.errors import InputError
from seq2seq.plain_text import first_line

MOST_BYTES = 1 << 26
"""Of a file that is one JSON value: a vocabulary of millions of words."""

LONGEST_REASON = 200

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Number = Annotated[float, Meta(ge=-1e40, le=1e40)]
"""Anything that float32 can hold, and that can be squared."""

Plain = bool | Whole | Number | str | None
Value = Any
"""Plain values, lists of them, and objects of these, nested eight deep at most."""
for _ in range(8):
    Value = Plain | list[Plain] | dict[str, Value]  # type: ignore[misc]

Kind = TypeVar("Kind")


class _Versioned(Struct):
    """The format of a file; those from before there was a version are of the first."""

    format: str = ""
    version: int = 1

    def __str__(self) -> str:
        return f"{self.format[:40]} version {self.version}".lstrip()


def read_json(
    path: Path,
    kind: type[Kind],
    *,
    version: int,
    format_name: str = "",
    refusal: str,
    remedy: str,
    check: Callable[[Kind], Any] | None = None,
) -> Kind:
    """Read a file that is one JSON value.

    Args:
        path: of the file.
        kind: what it is to hold.
        version: the version of the format that this program reads.
        format_name: the format, where files name it.
        refusal: what is said of a file that is something else, after its path.
        remedy: what to do about it.
        check: raises a `ValueError` for what the type cannot say.

    Raises:
        InputError: it holds something else, or cannot be read.
    """
    try:
        content = read_bytes(path, MOST_BYTES)
        found, own = decoded(content, _Versioned), _Versioned(format_name, version)
        if found != own:
            raise InputError(
                f"{path} is {found}, this program reads {own}: {remedy}, or use the program it is "
                "from"
            )
        return _checked(decoded(content, kind), check)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise InputError(f"{path} {refusal} ({reason}): {remedy}") from error


def _checked(value: Kind, check: Callable[[Kind], Any] | None) -> Kind:
    if check is not None:
        check(value)
    return value


def decoded(content: bytes, kind: type[Kind]) -> Kind:
    """A typed structure of JSON. NaN and infinity, which earlier versions wrote, are null.

    Raises:
        ValueError: it holds something else, or is no JSON; one line that names the field.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except (ValueError, RecursionError) as error:
        if not (b"NaN" in content or b"Infinity" in content):
            raise ValueError(_reason(error)) from error
    try:
        values = json.loads(content, parse_constant=lambda _: None)
        return msgspec.json.decode(msgspec.json.encode(values), type=kind)
    except (ValueError, RecursionError) as error:
        raise ValueError(_reason(error)) from error


def converted(value: Any, kind: type[Kind], where: str = "") -> Kind:
    """A typed structure of plain values, such as `decoded` gives.

    Args:
        value: the plain values.
        kind: what they are to be.
        where: the name of the whole, for the message.

    Raises:
        ValueError: they are something else; one line that names the field.
    """
    try:
        return msgspec.convert(value, kind)
    except (ValueError, RecursionError) as error:
        reason = _reason(error)
    except (TypeError, AttributeError):  # of objects, where msgspec looks for plain values
        reason = "it holds more than plain values"
    raise ValueError(f"{where}: {reason}" if where else reason)


def encoded(value: Any, *, indent: int = 1) -> str:
    """JSON text; NaN and infinity are null."""
    return msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()


def read_bytes(path: Path, most: int) -> bytes:
    """What a regular file holds.

    Raises:
        ValueError: it has more bytes than that.
        OSError: it cannot be read, or is no regular file.
    """
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return content


def open_regular(path: Path) -> BufferedReader:
    """A regular file, open to be read; a pipe, which may never end, is none.

    Raises:
        OSError: it cannot be opened, or is something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is no regular file")


def _reason(error: Exception) -> str:
    """Which field is wrong and why; the path that msgspec calls ``$`` is that of the file."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    reason, _, field = str(error).replace("`", "").partition(" - at $")
    return f"{field.lstrip('.')}: {reason}"[:LONGEST_REASON] if field else reason[:LONGEST_REASON]
