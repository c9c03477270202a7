"""XLIFF 1 and 2, the exchange format of localization."""

from seq2seq.data.formats.columns import Columns
from seq2seq.data.formats.markup import children, elements, name_of, text_of
from seq2seq.data.languages import nearest
from seq2seq.data.text import SentencePair
from seq2seq.errors import InputError

UNTRANSLATED = {"new", "needs-translation", "initial"}
"""States in which a target is a copy of the source, or a guess."""


def read(path: str, columns: Columns) -> list[SentencePair]:
    """Read source and target of all units; a unit without translation has a blank target.

    Raises:
        InputError: The file is damaged, or of other languages.
    """
    pairs: list[SentencePair] = []
    turned = None
    for unit in elements(path, "trans-unit", "segment"):
        if turned is None:
            top = next(each for each in unit.iterancestors() if name_of(each) == "file")
            root = top.getparent()
            declared = [
                top.get("source-language") or root.get("srcLang") or "",
                top.get("target-language") or root.get("trgLang") or columns.languages[1],
            ]
            codes = [nearest(declared, language) for language in columns.languages]
            if codes not in ([[declared[0]], [declared[1]]], [[declared[1]], [declared[0]]]):
                raise columns.refusal(path, declared)
            turned = codes[0] == [declared[1]]
        source, target = ("".join(map(text_of, children(unit, name)[:1])) for name in ("source", "target"))
        states = {each.get("state") for each in [unit, *children(unit, "target")]}
        target = "" if states & UNTRANSLATED else target
        pair = SentencePair(source, target)
        pairs.append(pair.reversed() if turned else pair)
    if not pairs:
        raise InputError(f"{path} has no units with source and target")
    return pairs
