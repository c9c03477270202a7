"""TMX, the exchange format of translation memories."""

from seq2seq.data.formats.columns import Columns
from seq2seq.data.formats.markup import children, elements, language_of, text_of
from seq2seq.data.text import SentencePair


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read the units that have both languages.

    Raises:
        InputError: The file is damaged, no unit has both, or one has two that are as near to a language.
    """
    units = []
    for unit in elements(path, "tu"):
        texts: dict[str, str] = {}
        for variant in children(unit, "tuv"):
            for segment in children(variant, "seg")[:1]:
                texts.setdefault(language_of(variant), text_of(segment))
        units.append(texts)
    return [SentencePair(*sides) for sides in columns.both_of(path, units)]
