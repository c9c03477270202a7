"""Sentence pairs from bilingual files of any format.

    from bitext import Columns, read
    for pair in read("memory.tmx", Columns(("en", "fr"))):
        print(pair.source, pair.target, pair.place)

`read` takes one file with both languages, `read_two` two files, `lines` a file of one language; a file a format has the
reader of each. The format is told by the content, see `sniff`, and so is the compression. What cannot be read is a
`FormatError`. `hold_out` holds near-copies out together; others of `bitext.comparing` find repeated and odd pairs.
"""

from bitext.addresses import is_address, matching, on_disk, parallel_files
from bitext.columns import Column, Columns, cell_text
from bitext.comparing import (
    grouped,
    hold_out,
    in_file_order,
    normalize,
    odd_ratios,
    repeats,
    same_sides,
    seen_pairs,
    seen_sources,
)
from bitext.files import lines, open_bytes, plain_lines, read_lines
from bitext.kinds import sniff
from bitext.languages import NAMES, TWO_LETTERS, base_language, is_unspaced
from bitext.pair import File, FormatError, Pair
from bitext.pharaoh import Links, parse_links, read_links
from bitext.reading import holds_pairs, read, read_two

__all__ = [
    "NAMES", "TWO_LETTERS", "Column", "Columns", "File", "FormatError", "Links", "Pair", "base_language", "cell_text", "grouped",
    "hold_out", "holds_pairs", "in_file_order", "is_address", "is_unspaced", "lines", "matching", "normalize",
    "odd_ratios", "on_disk", "open_bytes", "parallel_files", "parse_links", "plain_lines", "read", "read_lines", "read_links",
    "read_two", "repeats", "same_sides", "seen_pairs", "seen_sources", "sniff",
]  # fmt: skip
