"""Which columns of a table are source and target: as the user names them, or by their names, where there is no doubt."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from seq2seq.errors import InputError

LANGUAGES = {
    "ar": "ara arabic", "bg": "bul bulgarian", "cs": "ces cze czech", "da": "dan danish", "de": "deu ger german",
    "el": "ell gre greek", "en": "eng english", "es": "spa spanish", "et": "est estonian", "fa": "fas per persian",
    "fi": "fin finnish", "fr": "fra fre french", "he": "heb hebrew", "hi": "hin hindi", "hu": "hun hungarian",
    "id": "ind indonesian", "it": "ita italian", "ja": "jpn japanese", "ko": "kor korean", "lt": "lit lithuanian",
    "lv": "lav latvian", "nb": "nob", "nl": "nld dut dutch", "no": "nor norwegian", "pl": "pol polish",
    "pt": "por portuguese", "ro": "ron rum romanian", "ru": "rus russian", "sk": "slk slo slovak", "sl": "slv slovene",
    "sv": "swe swedish", "th": "tha thai", "tr": "tur turkish", "uk": "ukr ukrainian", "vi": "vie vietnamese",
    "zh": "zho chi cmn chinese mandarin",
}  # fmt: skip
"""Other names of languages in columns."""
NUMBER = re.compile(r"(?i)[-+]?([\d.,]*\d(e[-+]?\d+)?|inf|infinity|nan) ?%?")
"""A number as programs write it; missing ones too."""
ROLES = {"source", "src"}, {"target", "tgt", "trg"}

Column = str | int | None


@dataclass(frozen=True)
class Columns:
    """Source and target of a file of pairs.

    Attributes:
        languages: Codes of the source and the target language.
        wanted: Name of the source and of the target column, or number from 1; None: to be found.
    """

    languages: tuple[str, str]
    wanted: tuple[Column, Column] = (None, None)

    def __post_init__(self) -> None:
        if (self.wanted[0] is None) != (self.wanted[1] is None):
            raise InputError(
                "data.source_column and data.target_column are needed together: set both or neither"
            )
        if self.named and self.wanted[0] == self.wanted[1]:
            raise InputError(f"data.source_column and data.target_column are both {self.wanted[0]}")

    @property
    def named(self) -> bool:
        """Whether the user named the columns."""
        return self.wanted[0] is not None

    def by_name(self, names: Sequence[str]) -> tuple[int, int] | None:
        """Return the columns that are named for the languages, or source and target; None if that is in doubt."""
        words = [set(re.findall(r"[^\W\d_]+", name.casefold())) for name in names]
        labels = [language_names(language) for language in self.languages]
        folded = [name.casefold().replace("_", "-") for name in names]
        exact = [[place for place, name in enumerate(folded) if name in label] for label in labels]
        about = [[place for place, found in enumerate(words) if found & label] for label in labels]
        roles = [[place for place, found in enumerate(words) if found & role] for role in ROLES]
        for sides in (exact, about, roles):
            if len(sides[0]) == len(sides[1]) == 1 and sides[0] != sides[1]:
                return sides[0][0], sides[1][0]
        return None

    def is_header(self, cells: Sequence[str]) -> bool:
        """Return whether the first row of a table holds the names of its columns."""
        names = [cell.strip() for cell in cells]
        if self.named and all(isinstance(each, str) and each in names for each in self.wanted):
            return True
        found = self.by_name(names)
        return found is not None and all(len(names[place].split()) <= 3 for place in found)

    def choose(self, path: str, names: Sequence[str]) -> tuple[int, int]:
        """Return the places of source and target among named columns.

        Raises:
            InputError: A column is not there, or the names leave a doubt.
        """
        listed = ", ".join(names)
        if not self.named:
            found = self.by_name(names)
            if found is None:
                raise InputError(
                    f"{path} has the columns {listed}: set data.source_column and data.target_column to the two that "
                    "are source and target"
                )
            print(f"{path}: source is the column {names[found[0]]}, target the column {names[found[1]]}")
            return found
        places = []
        for key, column in zip(("source_column", "target_column"), self.wanted, strict=True):
            if column in names:
                places.append(names.index(str(column)))
            elif str(column).isdecimal() and 1 <= int(str(column)) <= len(names):
                places.append(int(str(column)) - 1)
            else:
                raise InputError(f"data.{key}={column}: {path} has no such column; it has {listed}")
        return places[0], places[1]

    def by_content(self, path: str, rows: Sequence[Sequence[str]]) -> tuple[int, int]:
        """Return the places of source and target in a table without names: the first two if they can be text.

        Two columns that follow one column of numbers each, as tatoeba.org exports pairs, are found.

        Raises:
            InputError: One of the first two columns has only numbers, addresses or a single value.
        """
        width = len(rows[0])
        kinds = [no_text([row[place] for row in rows if place < len(row)]) for place in range(width)]
        numbers = [kind == "numbers" for kind in kinds]
        if width == 4 and numbers == [True, False, True, False]:
            print(f"{path}: columns 1 and 3 have only numbers: source is column 2, target column 4")
            return 1, 3
        for place, kind in enumerate(kinds[:2]):
            if kind:
                raise InputError(
                    f"{path}: column {place + 1} has only {kind}: set data.source_column and data.target_column to "
                    f"the numbers of the two columns with text, of 1 to {width}"
                )
        return 0, 1


def language_names(code: str) -> set[str]:
    """Return what a column of a language is called: its code, without script and region too, and its other names."""
    base = re.split("[-_]", code.casefold(), maxsplit=1)[0]
    base = next((two for two, names in LANGUAGES.items() if base in names.split()), base)
    return {code.casefold().replace("_", "-"), base, *LANGUAGES.get(base, "").split()}


def nearest(found: Collection[str], wanted: str, path: str) -> str | None:
    """Return which code of a file's languages is the wanted one: pt-BR of pt-PT and pt-BR; None if none is.

    Script and region are the same, or given on one side only; others where there is nothing else.

    Raises:
        InputError: Several codes are as near.
    """
    parts = {code: set(re.split("[-_]", code.casefold())[1:]) for code in (*found, wanted)}
    distances = {
        code: 0 if own == parts[wanted] else 1 if own <= parts[wanted] or parts[wanted] <= own else 2
        for code, own in parts.items()
        if code in found and language_names(code) & language_names(wanted)
    }
    best = [code for code, distance in distances.items() if distance == min(distances.values())]
    if len({code.casefold().replace("_", "-") for code in best}) > 1:
        raise InputError(
            f"{path} has {' and '.join(best)}, which are both {wanted}: set data.source_language or "
            "data.target_language to one of them"
        )
    return best[0] if best else None


def no_text(cells: Sequence[str]) -> str:
    """Return what is in a column that holds no sentences: ``numbers``, ``addresses``, ``identifiers``, ``one value``, ``labels``, or nothing."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if filled and all(NUMBER.fullmatch(cell) for cell in filled):
        return "numbers"
    if filled and all(re.fullmatch(r"(https?://|www\.)\S+", cell) for cell in filled):
        return "addresses"
    if len(filled) >= 10 and all(re.fullmatch(r"[!-~]*[0-9][!-~]*", cell) for cell in filled):
        return "identifiers"
    if len(filled) >= 10 and len(set(filled)) == 1:
        return "one value"
    if len(filled) >= 100 and len(set(filled)) <= 5 and not any(map(str.isspace, "".join(set(filled)))):
        return "labels"
    return ""


def cell_text(value: object) -> str:
    """Return a cell as text; null is blank.

    Raises:
        TypeError: It is a list or an object.
    """
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(f"{type(value).__name__}")
