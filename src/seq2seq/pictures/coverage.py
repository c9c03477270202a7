"""Which characters a font file has outlines for: a reader of the OpenType ``cmap`` table."""

import struct
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

_OUTLINES = {b"glyf", b"CFF ", b"CFF2"}
_COLOUR_ONLY = {b"CBDT", b"COLR", b"sbix"}

Words = npt.NDArray[Any]


@dataclass(frozen=True)
class Segments:
    """Character table of format 4: runs of 16-bit code points.

    Attributes:
        ends: the last code point of each run.
        starts: the first code point of each run.
        shifts: what turns code points into glyph numbers, where the offset is 0.
        offsets: where else the glyph numbers of each run are, in bytes from the offset itself;
            those glyph numbers follow.
    """

    ends: Words
    starts: Words
    shifts: Words
    offsets: Words

    def __contains__(self, code_point: int) -> bool:
        """Whether the character has a glyph other than that for missing ones."""
        place = int(np.searchsorted(self.ends, code_point))
        if place == len(self.ends) or self.starts[place] > code_point:
            return False
        offset = int(self.offsets[place]) // 2
        if not offset:
            return (code_point + int(self.shifts[place])) % 0x10000 != 0
        glyph = place + offset + code_point - int(self.starts[place])
        return glyph < len(self.offsets) and bool(self.offsets[glyph])


@dataclass(frozen=True)
class Groups:
    """Character table of format 12: runs of code points (first, last, first glyph)."""

    runs: Words

    def __contains__(self, code_point: int) -> bool:
        """Whether the character has a glyph other than that for missing ones."""
        place = int(np.searchsorted(self.runs[:, 1], code_point))
        if place == len(self.runs):
            return False
        first, _, glyph = self.runs[place].tolist()
        return bool(first <= code_point and glyph + code_point - first)


Coverage = Segments | Groups | frozenset[int]


def read_coverage(file: BinaryIO) -> Coverage:
    """The code points a font has outlines for; none where it draws in colour only.

    Args:
        file: an OpenType or TrueType font, or a collection, of which the first font counts.

    Raises:
        struct.error: the file is no such font, or ends early.
        ValueError: a character table is shorter than it says.
        IndexError: the same.
    """
    tables = _tables(file)
    if b"cmap" not in tables or not tables.keys() & _OUTLINES or tables.keys() & _COLOUR_ONLY:
        return frozenset()
    offset, length = tables[b"cmap"]
    file.seek(offset)
    subtables = _subtables(file.read(length))
    if 12 in subtables:
        return _groups(subtables[12])
    return _segments(subtables[4]) if 4 in subtables else frozenset()


def _tables(file: BinaryIO) -> dict[bytes, tuple[int, int]]:
    """Offset and length of each table."""
    start = 0
    if file.read(4) == b"ttcf":
        file.seek(12)
        (start,) = struct.unpack(">I", file.read(4))
    file.seek(start + 4)
    (count,) = struct.unpack(">H", file.read(2))
    file.seek(start + 12)
    records = struct.iter_unpack(">4s4xII", file.read(16 * count))
    return {name: (offset, length) for name, offset, length in records}


def _subtables(table: bytes) -> dict[int, bytes]:
    """The Unicode subtables of a ``cmap`` table, by their format."""
    (count,) = struct.unpack_from(">H", table, 2)
    found = {}
    for platform, encoding, offset in struct.iter_unpack(">HHI", table[4 : 4 + 8 * count]):
        if platform == 0 or (platform == 3 and encoding in {1, 10}):
            (form,) = struct.unpack_from(">H", table, offset)
            found[form] = table[offset:]
    return found


def _segments(table: bytes) -> Segments:
    words = np.frombuffer(table[: len(table) // 2 * 2], ">u2")
    count = int(words[3]) // 2
    ends, starts = words[7 : 7 + count], words[8 + count : 8 + 2 * count]
    shifts, offsets = words[8 + 2 * count : 8 + 3 * count], words[8 + 3 * count :]
    if len(offsets) < count:
        raise ValueError(f"{count} segments do not fit {len(words)} words")
    return Segments(ends, starts, shifts, offsets)


def _groups(table: bytes) -> Groups:
    (count,) = struct.unpack_from(">I", table, 12)
    return Groups(np.frombuffer(table, ">u4", 3 * count, 16).reshape(count, 3))
