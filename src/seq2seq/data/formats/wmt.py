"""Test sets of WMT: a file of source and references in XML, or a file for each language in SGML."""

import html
import re
from collections.abc import Iterator
from typing import IO

from seq2seq.data.formats.columns import Columns, nearest
from seq2seq.data.formats.markup import children, elements, language_of, text_of
from seq2seq.data.text import SentencePair
from seq2seq.errors import InputError


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read the segments of the XML format; of several references in the target language, the first of each document.

    Raises:
        InputError: The file is damaged, or no document has both languages.
    """
    pairs, found = [], set()
    for document in elements(path, "doc"):
        texts: dict[str, dict[str, str]] = {}
        for text in [*children(document, "src"), *children(document, "ref")]:
            texts.setdefault(
                language_of(text), {each.get("id"): text_of(each) for each in text.iter("{*}seg")}
            )
        found |= texts.keys()
        codes = [nearest(texts, language, path) for language in columns.languages]
        if codes[0] is not None and codes[1] is not None:
            source, target = texts[codes[0]], texts[codes[1]]
            pairs += [SentencePair(text, target.get(number, "")) for number, text in source.items()]
    if not pairs:
        raise InputError(
            f"{path} has {', '.join(sorted(found))}, not {' and '.join(columns.languages)}: set "
            "data.source_language and data.target_language"
        )
    return pairs


def segments(file: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the segments of the SGML format as lines: entities are resolved, all other text is as it is written.

    Args:
        file: Of one language.
        name: Its name, for messages.

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
