"""Test sets of WMT: a file of source and references in XML, or a file for each language in SGML."""

import html
import re
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from seq2seq.data.formats.columns import Columns
from seq2seq.data.formats.markup import children, elements, language_of, text_of
from seq2seq.data.text import SentencePair
from seq2seq.errors import InputError


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read the segments of the XML format; of several references in the target language, the first of each document.

    Raises:
        InputError: The file is damaged, or no document has both languages.
    """
    documents = []
    for document in elements(path, "doc"):
        texts: dict[str, dict[tuple[str, int], str]] = {}
        for text in [*children(document, "src"), *children(document, "ref")]:
            texts.setdefault(language_of(text), numbered(text))
        documents.append(texts)
    return [
        SentencePair(text, target.get(number, ""))
        for source, target in columns.both_of(path, documents)
        for number, text in source.items()
    ]


def numbered(text: Any) -> dict[tuple[str, int], str]:
    """Return the segments by their number and by how many of the same number are before, as some files begin again."""
    found: dict[tuple[str, int], str] = {}
    seen: Counter[str] = Counter()
    for place, segment in enumerate(text.iter("{*}seg"), start=1):
        number = segment.get("id", str(place))
        found[number, seen[number]] = text_of(segment)
        seen[number] += 1
    return found


def segments(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the segments of the SGML format as lines: entities are resolved, all other text is as it is written.

    Raises:
        InputError: A segment has no end.
    """
    content = file.read()
    for found in re.finditer(
        rb"<seg\b[^>]*>(.*?)(</seg\s*>|(?=<seg\b)|\Z)", content, re.DOTALL | re.IGNORECASE
    ):
        if not found[2]:
            line = content.count(b"\n", 0, found.start()) + 1
            raise InputError(f"{name}:{line}: this <seg> has no </seg>: add it")
        text = html.unescape(found[1].decode(errors="surrogateescape"))  # `read_lines` reports the bytes
        yield f"{' '.join(text.split())}\n".encode(errors="surrogateescape")
