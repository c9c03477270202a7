"""Test sets of WMT in XML: source and references in one file."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bitext.columns import Columns
from bitext.markup import children, elements, language_of, line_of, text_of
from bitext.pair import File, Pair


def read(path: File, columns: Columns) -> Iterator[Pair]:
    """Yield the segments; of several references in the target language, the first of each document.

    Raises:
        FormatError: The file is damaged, or no document has both languages.
    """
    documents = []
    for document in elements(path, "doc"):
        texts: dict[str, dict[tuple[str, int], tuple[str, int]]] = {}
        for text in [*children(document, "src"), *children(document, "ref")]:
            texts.setdefault(language_of(text), numbered(text))
        documents.append(texts)
    for source, target in columns.both_of(path, documents):
        for number, (text, place) in source.items():
            yield Pair(text, target.get(number, ("", 0))[0], place)


def numbered(text: Any) -> dict[tuple[str, int], tuple[str, int]]:
    """Return segments and their lines by their number and how many of the same are before, as some files begin again."""
    found: dict[tuple[str, int], tuple[str, int]] = {}
    seen: Counter[str] = Counter()
    for place, segment in enumerate(text.iter("{*}seg"), start=1):
        number = segment.get("id", str(place))
        found[number, seen[number]] = text_of(segment), line_of(segment)
        seen[number] += 1
    return found
