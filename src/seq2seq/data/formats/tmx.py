"""TMX, the exchange format of translation memories."""

from collections import Counter

from seq2seq.data.formats.columns import Columns, language_names
from seq2seq.data.formats.markup import children, elements, language_of, text_of
from seq2seq.data.text import SentencePair
from seq2seq.errors import InputError


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read the units that have both languages.

    Raises:
        InputError: The file is damaged, or no unit has both.
    """
    labels = [language_names(language) for language in columns.languages]
    pairs, found = [], Counter[str]()
    for unit in elements(path, "tu"):
        sides: dict[int, str] = {}
        for variant in children(unit, "tuv"):
            language = language_of(variant)
            found[language] += 1
            segment = next(iter(children(variant, "seg")), None)
            for side, label in enumerate(labels):
                if side not in sides and segment is not None and language_names(language) & label:
                    sides[side] = text_of(segment)
        if len(sides) == 2:
            pairs.append(SentencePair(sides[0], sides[1]))
    if not pairs:
        raise InputError(
            f"{path} has {', '.join(found) or 'no languages'}, not {' and '.join(columns.languages)}: set "
            "data.source_language and data.target_language"
        )
    return pairs
