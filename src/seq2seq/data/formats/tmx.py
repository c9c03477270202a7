"""TMX, the exchange format of translation memories."""

from collections import Counter

from seq2seq.data.formats.columns import Columns
from seq2seq.data.formats.markup import children, elements, language_of, text_of
from seq2seq.data.text import SentencePair


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read the units that have both languages.

    Raises:
        InputError: The file is damaged, or no unit has both.
    """
    pairs, found = [], Counter[str]()
    for unit in elements(path, "tu"):
        sides: dict[int, str] = {}
        for variant in children(unit, "tuv"):
            language = language_of(variant)
            found[language] += 1
            segment = next(iter(children(variant, "seg")), None)
            side = columns.side_of(language)
            if side is not None and side not in sides and segment is not None:
                sides[side] = text_of(segment)
        if len(sides) == 2:
            pairs.append(SentencePair(sides[0], sides[1]))
    if not pairs:
        raise columns.refusal(path, found)
    return pairs
