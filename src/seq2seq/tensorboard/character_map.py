"""Which characters a font file has: a reader of the OpenType ``cmap`` table."""

import struct
from pathlib import Path

Ranges = list[tuple[int, int]]
"""First and last code point of runs of characters."""


def covered_ranges(path: Path) -> Ranges:
    """Code points that a font file maps to a glyph; none where the file cannot be read."""
    try:
        return _character_map(path.read_bytes())
    except (OSError, struct.error, IndexError):
        return []


def _character_map(content: bytes) -> Ranges:
    start = struct.unpack_from(">I", content, 12)[0] if content[:4] == b"ttcf" else 0
    num_tables = struct.unpack_from(">H", content, start + 4)[0]
    for index in range(num_tables):
        tag, _, offset, _ = struct.unpack_from(">4sIII", content, start + 12 + 16 * index)
        if tag == b"cmap":
            return _best_subtable(content, offset)
    return []


def _best_subtable(content: bytes, table: int) -> Ranges:
    """The full Unicode map where there is one, else that of the basic plane."""
    num_subtables = struct.unpack_from(">H", content, table + 2)[0]
    found: dict[int, int] = {}
    for index in range(num_subtables):
        platform, _, offset = struct.unpack_from(">HHI", content, table + 4 + 8 * index)
        if platform in (0, 3):
            found[struct.unpack_from(">H", content, table + offset)[0]] = table + offset
    if 12 in found:
        return _segmented_coverage(content, found[12])
    return _segment_mapping(content, found[4]) if 4 in found else []


def _segmented_coverage(content: bytes, table: int) -> Ranges:
    """Format 12: groups of (first, last, first glyph)."""
    num_groups = struct.unpack_from(">I", content, table + 12)[0]
    groups = struct.iter_unpack(">III", content[table + 16 : table + 16 + 12 * num_groups])
    return [(first, last) for first, last, _ in groups]


def _segment_mapping(content: bytes, table: int) -> Ranges:
    """Format 4: parallel arrays of last and first code points."""
    double_count = struct.unpack_from(">H", content, table + 6)[0]
    count = double_count // 2
    lasts = struct.unpack_from(f">{count}H", content, table + 14)
    firsts = struct.unpack_from(f">{count}H", content, table + 16 + double_count)
    return [pair for pair in zip(firsts, lasts, strict=True) if pair[0] != 0xFFFF]
