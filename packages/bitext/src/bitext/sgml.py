"""Test sets of WMT in SGML: a file for each language, whose segments are read as lines."""

import html
import re
from collections.abc import Iterator
from typing import IO

from bitext.pair import FormatError


def segments(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the segments as lines: entities are resolved, all other text is as it is written.

    Raises:
        FormatError: A segment has no end.
    """
    content = file.read()
    for found in re.finditer(
        rb"<seg\b[^>]*>(.*?)(</seg\s*>|(?=<seg\b)|\Z)", content, re.DOTALL | re.IGNORECASE
    ):
        if not found[2]:
            line = content.count(b"\n", 0, found.start()) + 1
            raise FormatError(f"{name}:{line}: this <seg> has no </seg>: add it")
        text = html.unescape(found[1].decode(errors="surrogateescape"))  # `lines` reports the bytes
        yield f"{' '.join(text.split())}\n".encode(errors="surrogateescape")
