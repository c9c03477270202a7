"""XLIFF 1 and 2, the exchange format of localization."""

from collections.abc import Iterator
from typing import Any

from bitext.columns import Columns
from bitext.languages import nearest
from bitext.markup import children, elements, line_of, name_of, text_of
from bitext.pair import File, FormatError, Pair, counted

UNTRANSLATED = {"new", "needs-translation", "initial"}
"""States in which a target is a copy of the source, or a guess."""


def read(path: File, columns: Columns) -> Iterator[Pair]:
    """Yield source and target of all units; a unit without translation has a blank target.

    A document may hold files of several languages: those of others are left out.

    Raises:
        FormatError: The document is damaged, or of other languages.
    """
    found = False
    others: dict[str, int] = {}
    for unit in elements(path, "trans-unit", "segment"):
        top = next((each for each in unit.iterancestors() if name_of(each) == "file"), None)
        if top is None or top.getparent() is None:
            raise FormatError(f"{path} is damaged: a unit is outside of <file>, or <file> outside of <xliff>")
        root = top.getparent()
        declared = [
            top.get("source-language") or root.get("srcLang") or "",
            top.get("target-language") or root.get("trgLang") or columns.languages[1],
        ]
        columns = columns.resolved(path, declared)
        codes = [nearest(declared, language) for language in columns.languages]
        turned = codes == [[declared[1]], [declared[0]]]
        if not turned and codes != [[declared[0]], [declared[1]]]:
            others[", ".join(declared)] = others.get(", ".join(declared), 0) + 1
            continue
        states = {each.get("state") for each in [unit, *children(unit, "target")]}
        for source, target in segments(unit):
            found = True
            sides = source, "" if states & UNTRANSLATED else target
            yield Pair(*(sides[::-1] if turned else sides), line_of(unit))
    if others and not found:
        raise columns.refusal(path, others)
    for languages, count in others.items():
        columns.say(f"{path}: {counted(count, 'unit')} of {languages} left out")
    if not found:
        raise FormatError(f"{path} has no units with source and target")


def segments(unit: Any) -> list[tuple[str, str]]:
    """Return source and target of the segments that a unit of XLIFF 1 marks on both sides by number; else of the whole unit."""
    marks = [[*unit.iterfind(f"{{*}}{name}//{{*}}mrk[@mtype='seg']")] for name in ("seg-source", "target")]
    sources, targets = ({mark.get("mid"): text_of(mark) for mark in side} for side in marks)
    if targets and targets.keys() <= sources.keys() and [len(sources), len(targets)] == [*map(len, marks)]:
        return [(source, targets.get(number, "")) for number, source in sources.items()]
    source, target = ("".join(map(text_of, children(unit, name)[:1])) for name in ("source", "target"))
    return [(source, target)]
