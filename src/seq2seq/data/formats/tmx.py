"""TMX, the exchange format of translation memories."""

from seq2seq.common.progress import say_once
from seq2seq.data.formats.columns import Columns
from seq2seq.data.formats.markup import children, elements, language_of, text_of
from seq2seq.data.languages import codes_of
from seq2seq.data.text import SentencePair


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read the units that have both languages.

    Raises:
        InputError: The file is damaged, or no unit has both.
    """
    units, found = list[dict[str, str]](), dict[str, None]()
    for unit in elements(path, "tu"):
        texts: dict[str, str] = {}
        for variant in children(unit, "tuv"):
            language = language_of(variant)
            found[language] = None
            for segment in children(variant, "seg")[:1]:
                texts.setdefault(language, text_of(segment))
        units.append(texts)
    codes = [codes_of(language, found) for language in columns.languages]
    sides = (
        [next((text for code, text in unit.items() if code in each), None) for unit in units]
        for each in codes
    )
    pairs = [SentencePair(*pair) for pair in zip(*sides, strict=True) if None not in pair]
    if not pairs:
        raise columns.refusal(path, found)
    say_once(f"{path}: source is {', '.join(sorted(codes[0]))}, target {', '.join(sorted(codes[1]))}")
    return pairs
