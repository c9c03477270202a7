"""TMX, the exchange format of translation memories."""

from collections.abc import Iterator

from bitext.columns import Columns
from bitext.markup import children, elements, language_of, line_of, text_of
from bitext.pair import File, Pair


def read(path: File, columns: Columns) -> Iterator[Pair]:
    """Yield the units that have both languages.

    Raises:
        FormatError: The file is damaged, no unit has both, or one has two that are as near to a language.
    """
    units = []
    for unit in elements(path, "tu"):
        texts: dict[str, tuple[str, int]] = {}
        for variant in children(unit, "tuv"):
            for segment in children(variant, "seg")[:1]:
                texts.setdefault(language_of(variant), (text_of(segment), line_of(unit)))
        units.append(texts)
    for (source, place), (target, _) in columns.both_of(path, units):
        yield Pair(source, target, place)
