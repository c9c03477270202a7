"""The bytes of text files: plain, compressed, or one file of a zip archive. Needs no torch."""

import bz2
import difflib
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self

from seq2seq.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"

MOST_BYTES = 1 << 30
"""What an archive may unfold to. Larger is a mistake or a trap, and no text that trains here."""


OPENERS: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    GZIP_MAGIC: ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
"""How compressed files begin, what they are called, and what reads them, by path or as a stream."""


LONGEST_MAGIC = max(map(len, OPENERS))
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""What reading damaged compressed data raises."""


def compression(start: bytes) -> tuple[str, Callable[[Any], Any]] | None:
    """What data that begin so are called, and what reads them; None where they are plain."""
    return next((OPENERS[magic] for magic in OPENERS if start.startswith(magic)), None)


def read_bytes(path: Path) -> bytes:
    """Whole content of a file, decompressed where its first bytes say so, whatever its name.

    Raises:
        InputError: the file is missing, unreadable, or damaged.
    """
    with InputFile(path) as file:
        return file.read()


class InputFile:
    """A file that is read piece by piece, decompressed as `read_bytes` does.

    Raises:
        InputError: the file is missing, unreadable, or, when that part is read, damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        start = _first_bytes(path)
        if start.startswith(ZIP_MAGIC):
            raise InputError(f"{path} is a zip archive: unpack it, and give the text file")
        self._kind, opener = compression(start) or ("", lambda path: path.open("rb"))
        with self._refused():
            self._file = opener(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self) -> bytes:
        """All that is left."""
        with self._refused():
            return self._file.read()

    def lines(self, most: int) -> list[bytes]:
        """The next lines, with their ends; none at the end of the file."""
        with self._refused():
            return list(islice(self._file, most))

    @contextmanager
    def _refused(self) -> Iterator[None]:
        try:
            yield
        except DAMAGE as error:
            wrong = f"is a damaged {self._kind} file" if self._kind else "cannot be read"
            raise InputError(f"{self._path} {wrong} ({error}): fetch it again") from error


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
        with zipfile.ZipFile(path) as archive, archive.open(_one_text(path, archive)) as file:
            content = file.read(MOST_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        raise InputError(f"{path} is a damaged zip archive ({error}): fetch it again") from error
    except RuntimeError as error:  # what zipfile raises for an encrypted file
        raise InputError(f"{path} is encrypted: give an archive without a password") from error
    if len(content) > MOST_BYTES:
        raise InputError(f"{path} unfolds to more than {MOST_BYTES:,} bytes: unpack and check it")
    return content


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


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(8)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: {_nearest_existing(path)}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder: give a text file, plain or .gz") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check it") from error


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
