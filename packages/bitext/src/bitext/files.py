"""Files as bytes and lines: decompressed by their content, in UTF-8, of a kind that is wanted."""

import bz2
import contextlib
import gzip
import io
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

from bitext.addresses import on_disk
from bitext.kinds import HEAD, MEMBERS, refusal, sniff
from bitext.pair import File, FormatError
from bitext.sgml import segments


class Decompressed(io.RawIOBase):
    """The content of one or more compressed streams, one after another.

    (bz2.open and lzma.open leave out what follows a stream and is none, such as a file in another format.)

    Args:
        file: The open file.
        make: Returns a decompressor of a stream.
    """

    def __init__(self, file: Any, make: Callable[[], Any]) -> None:
        self._file, self._make, self._stream = file, make, make()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill a part of a buffer; return its size, 0 at the end."""
        found = b""
        while not found:
            if self._stream.eof:
                data = self._stream.unused_data
                while not data.strip(b"\0") and (part := self._file.read1(HEAD)):
                    data = part  # xz allows zeros between streams
                if not data.strip(b"\0"):
                    return 0
                data, self._stream = data.lstrip(b"\0"), self._make()
            else:
                data = self._file.read1(HEAD) if self._stream.needs_input else b""
                if self._stream.needs_input and not data:
                    raise EOFError("it ends within a compressed stream")
            try:
                found = self._stream.decompress(data, len(buffer))
            except Exception as error:  # each library has its own
                raise OSError(str(error)) from error
        buffer[: len(found)] = found
        return len(found)


OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": partial(Decompressed, make=bz2.BZ2Decompressor),
    b"\xfd7zXZ\x00": partial(Decompressed, make=lzma.LZMADecompressor),
}
"""Functions that decompress an open file, by the first bytes of the file."""
with contextlib.suppress(ImportError):
    zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "pyzstd")
    OPENERS[b"\x28\xb5\x2f\xfd"] = partial(Decompressed, make=zstd.ZstdDecompressor)


class _Joined(io.RawIOBase):
    """The beginning of a file, which has been read, and the rest."""

    def __init__(self, head: bytes, file: Any) -> None:
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        found = self._head[: len(buffer)] or self._file.read1(len(buffer))
        self._head = self._head[len(found) :]
        buffer[: len(found)] = found
        return len(found)


@contextlib.contextmanager
def open_bytes(path: File | None) -> Iterator[io.BufferedReader]:
    """Open a file, also at an address, or standard input, decompressed by its content; of a zip archive, its only text file.

    It is opened once and read from start to end, so that a pipe is read like a file. Its method ``peek`` has the first
    `HEAD` bytes, of what comes through standard input the first line at least.

    Raises:
        FormatError: The file is missing, a folder or damaged; a zip archive comes through a pipe, or does not hold one
            text file; standard input is closed.
    """
    if path is None and sys.stdin is None:
        raise FormatError("standard input is closed: give a file")
    name = "standard input" if path is None else str(path)
    with refusing(name), contextlib.ExitStack() as stack:
        file: Any = sys.stdin.buffer if path is None else stack.enter_context(open(on_disk(path), "rb"))
        may_wait, head = path is None and not file.seekable(), b""
        while len(head) < HEAD and not (may_wait and b"\n" in head):  # a pipe gives a few bytes at a time
            part = file.read1(HEAD - len(head))
            if not part:
                break
            head += part
        if head.startswith(b"PK\x03\x04"):
            if not file.seekable():
                raise FormatError(f"{name}: a zip archive cannot be read from a pipe: give its file")
            file.seek(-len(head), io.SEEK_CUR)
            archive = stack.enter_context(zipfile.ZipFile(file))
            content: Any = stack.enter_context(archive.open(text_member(archive, name)))
        else:
            opener = next((opener for magic, opener in OPENERS.items() if head.startswith(magic)), None)
            content = io.BufferedReader(_Joined(head, file), HEAD)
            content = content if opener is None else opener(content)
        yield content if type(content) is io.BufferedReader else io.BufferedReader(content, HEAD)


@contextlib.contextmanager
def refusing(name: str) -> Iterator[None]:
    """Raise a `FormatError` that names a file for what goes wrong when it is opened, decompressed or read."""
    try:
        yield
    except FileNotFoundError as error:
        raise FormatError(f"{name}: there is no such file") from error
    except IsADirectoryError as error:
        raise FormatError(f"{name} is a folder: give a file") from error
    except (OSError, EOFError, RuntimeError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise FormatError(f"{name} is damaged or cannot be read: {error}") from error


def text_member(archive: zipfile.ZipFile, path: str) -> str:
    """Return the name of the only file of a zip archive, apart from notes such as README and LICENSE.

    Raises:
        FormatError: It is a document of an office program, or has no file or several.
    """
    for name, kind in MEMBERS.items():
        if name in archive.namelist():
            raise refusal(path, kind)
    names = [
        name
        for name in archive.namelist()
        if not re.search(r"(?i)/$|__MACOSX|(^|/)(_?about|readme|license|licence|copying)[^/]*$", name)
    ]
    texts = [name for name in names if name.endswith(".txt")]
    for choice in (names, texts):
        if len(choice) == 1:
            return choice[0]
    listed = f" (it has {', '.join(names[:4])}{', …' if names[4:] else ''})" if names else ""
    raise FormatError(f"{path} is a zip archive of {len(texts)} text files: unpack it and give one{listed}")


def kind_of_file(path: File) -> str:
    """Return the kind of a file, see `sniff`.

    Raises:
        FormatError: It is missing, damaged, or a folder.
    """
    with open_bytes(path) as file:
        return sniff(file.peek(HEAD)[:HEAD])


def plain_lines(file: io.BufferedReader, name: str, kind: str = "text") -> Iterable[bytes]:
    """Return the lines of a file that `open_bytes` opened; of a test set of WMT in SGML, its segments.

    Its name is for messages.

    Raises:
        FormatError: The file is of another kind than the wanted one; the message has the way to read it.
    """
    found = sniff(file.peek(HEAD)[:HEAD])
    if found == "WMT SGML":
        return segments(file, name)
    if found != kind:
        raise refusal(name, found)
    return file


def lines(path: File | None, kind: str = "text") -> Iterator[str]:
    r"""Yield the lines of a UTF-8 text file of any length, plain or compressed.

    Only ``\n`` ends a line (a carriage return before it is dropped), so characters such as U+2028 stay inside
    their sentence. A byte order mark is dropped, also within a file that was put together of several.

    Args:
        path: The file; None for standard input.
        kind: What the file must be, see `sniff`.

    Raises:
        FormatError: The file is missing, a folder, damaged, of another kind, or not UTF-8.
    """
    with open_bytes(path) as file:
        yield from decoded(file, "standard input" if path is None else str(path), kind)


def decoded(file: io.BufferedReader, name: str, kind: str = "text") -> Iterator[str]:
    """Yield the lines of an open file as `lines` does; its name is for messages."""
    number = 0
    try:
        for number, content in enumerate(plain_lines(file, name, kind), start=1):  # noqa: B007 - for messages
            yield content.removeprefix(b"\xef\xbb\xbf").decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        if re.search(rb"[\x00-\x08\x0e-\x1a]", error.object):
            raise FormatError(f"{name}, line {number}: this is no text: give a text file in UTF-8") from error
        given = "" if name == "standard input" else f" {name}"
        raise FormatError(
            f"{name}, line {number}: byte 0x{error.object[error.start]:02x} is not UTF-8: convert the file, for "
            f"example with iconv -f WINDOWS-1252 -t UTF-8{given}"
        ) from error


def has_text(line: str) -> bool:
    """Return whether a line holds something to see."""
    return any(char.isprintable() and not char.isspace() for char in line)


def blank(name: str, count: int) -> FormatError:
    """Return the error of a file of so many lines, none of which has text."""
    has = "has blank lines only" if count else "is empty"
    return FormatError(f"{name} {has}: give a file with one sentence a line")


def read_lines(path: File) -> list[str]:
    """Read the lines of a text file, see `lines`.

    Raises:
        FormatError: The file cannot be read, or has no text.
    """
    found = list(lines(path))
    if not any(map(has_text, found)):
        raise blank(str(path), len(found))
    return found
