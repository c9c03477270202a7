"""Test sets of WMT: a file of source and references in XML, or a file for each language in SGML."""

from collections.abc import Iterator
from typing import IO, Any

from seq2seq.data.formats.columns import Columns, language_names
from seq2seq.data.formats.markup import children, elements, language_of, text_of
from seq2seq.data.text import SentencePair
from seq2seq.errors import InputError


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read the segments of the XML format; of several references in the target language, the first of each document.

    Raises:
        InputError: The file is damaged, or no document has both languages.
    """
    labels = [language_names(language) for language in columns.languages]
    pairs, found = [], set()
    for document in elements(path, "doc"):
        sides: list[dict[str, str]] = [{}, {}]
        for text in [*children(document, "src"), *children(document, "ref")]:
            found.add(language_of(text))
            for side, label in enumerate(labels):
                if not sides[side] and language_names(language_of(text)) & label:
                    sides[side] = {each.get("id"): text_of(each) for each in text.iter("{*}seg")}
        if all(sides):
            pairs += [SentencePair(text, sides[1].get(number, "")) for number, text in sides[0].items()]
    if not pairs:
        raise InputError(
            f"{path} has {', '.join(sorted(found))}, not {' and '.join(columns.languages)}: set "
            "data.source_language and data.target_language"
        )
    return pairs


def segments(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the segments of the SGML format, which need not be well-formed, as lines."""
    from lxml import html

    tree: Any = html.parse(file, html.HTMLParser(encoding="utf-8"))
    for segment in tree.iter("seg"):
        yield f"{text_of(segment)}\n".encode()
