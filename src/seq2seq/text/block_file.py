"""Arrays in files, with a checksum for every stretch of them."""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray

from seq2seq.errors import InputError
from seq2seq.storage.writing import flush, new_file

BLOCK_BYTES = 1 << 20
"""What one checksum covers: enough to be few, little enough to be read for one sentence."""


class DamagedFileError(InputError):
    """A file of ours is not as it was written."""


@dataclass(frozen=True, slots=True)
class FileSeal:
    """What a file was when it was written.

    Attributes:
        num_bytes: its size.
        checksums: CRC-32 of each block.
    """

    num_bytes: int
    checksums: list[int]


class BlockWriter:
    """Writes a file from beginning to end."""

    def __init__(self, path: Path) -> None:
        self._file = new_file(path)
        self._checksums: list[int] = []
        self._num_bytes = 0

    def write(self, content: bytes | NDArray) -> None:
        """Append bytes, or the bytes of an array."""
        view = memoryview(content if isinstance(content, bytes) else content.tobytes())
        self._file.write(view)
        while view:
            filled = self._num_bytes % BLOCK_BYTES
            part = view[: BLOCK_BYTES - filled]
            if not filled:
                self._checksums.append(0)
            self._checksums[-1] = zlib.crc32(part, self._checksums[-1])
            self._num_bytes += len(part)
            view = view[len(part) :]

    def close(self) -> FileSeal:
        """Make sure that the disk has it."""
        flush(self._file)
        self._file.close()
        return FileSeal(self._num_bytes, self._checksums)

    def abandon(self) -> None:
        """Close the file without more ado."""
        self._file.close()


class BlockArray:
    """An array in a file, mapped: processes that read it share its memory.

    A block is checked when it is first read.

    Raises:
        DamagedFileError: the file is missing or has another size.
    """

    def __init__(self, path: Path, dtype: DTypeLike, seal: FileSeal) -> None:
        self._path = path
        self._checksums = seal.checksums
        self._is_checked = bytearray(len(seal.checksums))
        try:
            found = path.stat().st_size
        except OSError as error:
            raise DamagedFileError(f"{path} cannot be read ({error.strerror})") from error
        if found != seal.num_bytes:
            raise DamagedFileError(f"{path} has {found:,} bytes, not {seal.num_bytes:,}")
        # an empty file cannot be mapped; and a plain view is sliced faster than numpy's memmap
        mapped = np.memmap(path, np.uint8, "r") if found else np.zeros(0, dtype=np.uint8)
        self._bytes = np.asarray(mapped)
        self._array = self._bytes.view(dtype)

    def __len__(self) -> int:
        return len(self._array)

    def part(self, start: int, stop: int) -> NDArray:
        """A stretch of the array.

        Raises:
            DamagedFileError: its bytes are not those that were written.
        """
        if stop > start:
            size = self._array.itemsize
            first, last = start * size // BLOCK_BYTES, (stop * size - 1) // BLOCK_BYTES
            for block in range(first, last + 1):
                if not self._is_checked[block]:
                    self._check(block)
        return self._array[start:stop]

    def whole(self) -> NDArray:
        """All of it."""
        return self.part(0, len(self))

    def _check(self, block: int) -> None:
        content = self._bytes[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]
        if zlib.crc32(content.data) != self._checksums[block]:
            folder = self._path.parent
            raise DamagedFileError(
                f"{self._path} is damaged: remove {folder}, and it is made again at the next start"
            )
        self._is_checked[block] = 1
