"""TMX, the exchange format of translation memories."""

from collections import Counter

from seq2seq.data.formats.columns import Columns, nearest
from seq2seq.data.formats.markup import children, elements, language_of, text_of
from seq2seq.data.text import SentencePair
from seq2seq.errors import InputError


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read the units that have both languages.

    Raises:
        InputError: The file is damaged, no unit has both, or one has two that are as near to a language.
    """
    pairs, found = [], Counter[str]()
    for unit in elements(path, "tu"):
        variants: dict[str, str] = {}
        for variant in children(unit, "tuv"):
            found[language_of(variant)] += 1
            for segment in children(variant, "seg")[:1]:
                variants.setdefault(language_of(variant), text_of(segment))
        sides = [nearest(variants, language, path) for language in columns.languages]
        if sides[0] is not None and sides[1] is not None:
            pairs.append(SentencePair(variants[sides[0]], variants[sides[1]]))
    if not pairs:
        raise InputError(
            f"{path} has {', '.join(found) or 'no languages'}, not {' and '.join(columns.languages)}: set "
            "data.source_language and data.target_language"
        )
    return pairs
