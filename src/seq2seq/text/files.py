"""The bytes of text files: plain, compressed, or one file of a zip archive. Needs no torch."""

import bz2
import difflib
import gzip
import io
import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self

from seq2seq.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"

LONGEST_LINE = 1 << 20
"""Bytes of a line."""

MOST_BYTES = 1 << 30
MOST_LINES = 1 << 24
"""What a text may have, decompressed, that is held in memory."""

MOST_UNFOLDED = 50
UNFOLDED_ANYWAY = 1 << 23
"""What compressed data may have become: so many times their size, or so many bytes. Text becomes 3
to 10 times as large; what is made to fill a machine, a thousand times."""

LINES_AT_ONCE = 64
"""Lines for a reader that keeps few of them: each may be of the greatest length."""

BLOCK = 1 << 16
OPENERS: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    GZIP_MAGIC: ("gzip file", gzip.open),
    b"BZh": ("bzip2 file", bz2.open),
    b"\xfd7zXZ\x00": ("xz file", lzma.open),
}
"""How compressed data begin, what they are called, and what reads them."""
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What reading damaged data raises."""


class TextStream:
    """Text that is read piece by piece, decompressed where its first bytes say so.

    What would fill the memory, a line without end or a bomb, is an `InputError` when it is read, as
    is what cannot be read, or is damaged.

    Args:
        stream: the data.
        name: what messages call them.
        zipped: size in a zip archive that `stream` unpacks; None for other data.

    Attributes:
        kind: how they are compressed; nothing where they are not.
    """

    def __init__(self, stream: Any, name: str, *, zipped: int | None = None) -> None:
        self._stream = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        self._name, self._zipped = name, zipped
        self.kind, opener = "zip archive" if zipped is not None else "", None
        with self._refused():
            start = b"" if self.kind else self._stream.peek(max(map(len, OPENERS)))
            for magic, found in OPENERS.items():
                if start.startswith(magic):
                    self.kind, opener = found
            self._file = io.BufferedReader(opener(self._stream), BLOCK) if opener else self._stream
        self._lines = chain.from_iterable(self._split())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._stream.close()

    def __iter__(self) -> Iterator[bytes]:
        return self._lines

    def lines(self, most: int) -> list[bytes]:
        r"""The next lines, which end at \n, without their ends; none at the end of the text."""
        return list(islice(self._lines, most))

    def read(self) -> bytes:
        """The whole text, which has to be small enough to be held."""
        return b"".join(self.held())

    def held(self) -> Iterator[bytes]:
        """The blocks of a text that is small enough to be held."""
        num_bytes = num_lines = 0
        for block in self.blocks():
            num_bytes += len(block)
            num_lines += block.count(b"\n")
            require_held(self._name, num_bytes, num_lines)
            yield block

    def blocks(self) -> Iterator[bytes]:
        """Pieces of the text, wherever they begin and end."""
        num_bytes, begun, number = 0, 0, 1
        while block := self._block():
            num_bytes += len(block)
            if num_bytes > UNFOLDED_ANYWAY and num_bytes > MOST_UNFOLDED * self._num_packed():
                raise InputError(
                    f"{self._name} unfolds to more than {MOST_UNFOLDED} times its size, as no text "
                    "does: unpack and check it"
                )
            first_end = block.find(b"\n")
            if begun + (len(block) if first_end < 0 else first_end) > LONGEST_LINE:
                raise InputError(
                    f"{self._name}, line {number:,} is longer than {LONGEST_LINE:,} bytes: "
                    "is it text with a sentence a line?"
                )
            begun = len(block) - block.rfind(b"\n") - 1 + (begun if first_end < 0 else 0)
            number += block.count(b"\n")
            yield block

    def _num_packed(self) -> float:
        """Bytes, compressed, of what has been read; more than any where that cannot be told."""
        if self._zipped is not None:
            return self._zipped
        return self._stream.tell() if self.kind and self._stream.seekable() else math.inf

    def _split(self) -> Iterator[list[bytes]]:
        rest = b""
        for block in self.blocks():
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            yield lines
        if rest:
            yield [rest]

    def _block(self) -> bytes:
        with self._refused():
            return self._file.read1(BLOCK)

    @contextmanager
    def _refused(self) -> Iterator[None]:
        try:
            yield
        except DAMAGE as error:
            wrong = f"is a damaged {self.kind}" if self.kind else "cannot be read"
            raise InputError(f"{self._name} {wrong} ({error}): fetch it again") from error
        except MemoryError as error:
            raise InputError(f"{self._name} takes more memory to unpack than there is") from error


class InputFile(TextStream):
    """A file as `TextStream`.

    Raises:
        InputError: it is missing or unreadable, or a zip archive.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(_opened(path), str(path))


def read_bytes(path: Path) -> bytes:
    """Whole content of a file, as `InputFile`; an `InputError` too where it cannot be held."""
    with InputFile(path) as file:
        return file.read()


def require_held(name: str, num_bytes: int, num_lines: int) -> None:
    """An `InputError` where there is more than can be held in memory."""
    if num_bytes > MOST_BYTES or num_lines > MOST_LINES:
        raise InputError(
            f"{name} holds more than {MOST_BYTES:,} bytes or {MOST_LINES:,} lines of text: "
            "give less, or training files that go through the store (data=parallel)"
        )


def is_zip(path: Path) -> bool:
    """Whether the first bytes of a file say zip."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(ZIP_MAGIC)) == ZIP_MAGIC


def read_zipped_text(path: Path) -> bytes:
    """The one text file of a zip archive, those with a leading underscore aside.

    It is read in memory: no name in the archive becomes a path.

    Raises:
        InputError: the archive is damaged, encrypted, too large, or holds another number of texts.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entry = _one_text(path, archive)
            stream, size = archive.open(entry), entry.compress_size
            with TextStream(stream, str(path), zipped=size) as file:
                return file.read()
    except (*DAMAGE, NotImplementedError) as error:
        raise InputError(f"{path} is a damaged zip archive ({error}): fetch it again") from error
    except RuntimeError as error:  # what zipfile raises for an encrypted file
        raise InputError(f"{path} is encrypted: give an archive without a password") from error


def _one_text(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    texts = [
        entry
        for entry in archive.infolist()
        if entry.filename.endswith(".txt") and not Path(entry.filename).name.startswith("_")
    ]
    if len(texts) == 1:
        return texts[0]
    names = ", ".join(entry.filename for entry in archive.infolist()[:6]) or "nothing"
    raise InputError(
        f"{path} must hold one .txt file of pairs, but holds {names}: unpack it, and give the file"
    )


def _opened(path: Path) -> io.BufferedReader:
    try:
        if path.is_fifo():
            raise InputError(f"{path} is a pipe: save what it gives, and give the file")
        stream = path.open("rb")
        is_zip_archive = stream.peek(len(ZIP_MAGIC)).startswith(ZIP_MAGIC)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: {_nearest_existing(path)}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder: give a text file, plain or .gz") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check it") from error
    if is_zip_archive:
        stream.close()
        raise InputError(f"{path} is a zip archive: unpack it, and give the text file")
    return stream


def _nearest_existing(path: Path) -> str:
    """Say what the user may have meant by a path that is not there."""
    folder = path.parent
    if not folder.is_dir():
        return f"nor does its folder; the working folder is {Path.cwd()}"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name[0] != ".")
    near = difflib.get_close_matches(path.name, names, n=2, cutoff=0.7)
    if near:
        return f"did you mean {' or '.join(str(folder / name) for name in near)}?"
    return f"{folder} holds {', '.join(names[:6]) or 'nothing'}"
