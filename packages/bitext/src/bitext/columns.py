"""Which columns of a table are source and target: as the user names them, or by their names, where there is no doubt."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any, TypeVar

from bitext.languages import language_names, nearest
from bitext.pair import File, FormatError, Pair

T = TypeVar("T")
NUMBER = re.compile(r"(?i)[-+]?([\d.,]*\d(e[-+]?\d+)?|inf|infinity|nan) ?%?")
"""A number as programs write it; missing ones too."""
ROLES = {"source", "src"}, {"target", "tgt", "trg"}

Column = str | int | None


@dataclass(frozen=True)
class Columns:
    """Source and target of a file of pairs.

    Attributes:
        languages: Codes of the source and the target language; none: those of the file, if it has two.
        wanted: Name of the source and of the target column, or number from 1; None: to be found.
        prefix: Of the names ``source_language``, ``target_language``, ``source_column`` and ``target_column`` in messages, by
            which a program asks for what is given here.
        say: Takes a line about what was chosen, and what was left out.
    """

    languages: tuple[str, str] = ("", "")
    wanted: tuple[Column, Column] = (None, None)
    prefix: str = ""
    say: Callable[[str], object] = field(default=str, compare=False)

    def __post_init__(self) -> None:
        if (self.wanted[0] is None) != (self.wanted[1] is None):
            raise FormatError(f"{self.both('column')} are needed together: set both or neither")
        if self.named and self.wanted[0] == self.wanted[1]:
            raise FormatError(f"{self.both('column')} are both {self.wanted[0]}")

    @property
    def named(self) -> bool:
        """Whether the user named the columns."""
        return self.wanted[0] is not None

    def both(self, what: str, between: str = "and") -> str:
        """Return the names of what a user gives, such as ``source_column and target_column``."""
        return f"{self.prefix}source_{what} {between} {self.prefix}target_{what}"

    def resolved(self, path: File, found: Iterable[str]) -> "Columns":
        """Return the same, with languages: if none are given, those of a file of two.

        Raises:
            FormatError: None are given, and the file has others than two.
        """
        codes = [*dict.fromkeys(found)]
        if any(self.languages):
            return self
        if len(codes) != 2:
            raise self.refusal(path, codes)
        return replace(self, languages=(codes[0], codes[1]))

    def refusal(self, path: File, found: Iterable[str]) -> FormatError:
        """Return the error of a file of other languages."""
        wanted = f", not {' and '.join(self.languages)}" if any(self.languages) else ""
        return FormatError(
            f"{path} has {', '.join(found) or 'no languages'}{wanted}: set {self.both('language')}"
        )

    def both_of(self, path: File, units: Sequence[Mapping[str, T]]) -> list[tuple[T, T]]:
        """Return source and target of the units of a file that have both; a unit has a value by the code of its language.

        Raises:
            FormatError: No unit has both, or one has two that are as near to a language.
        """
        found = dict.fromkeys(code for unit in units for code in unit)
        languages = self.resolved(path, found).languages
        codes = [nearest(found, language) for language in languages]
        both = []
        for unit in units:
            sides = [[code for code in each if code in unit] for each in codes]
            for language, side in zip(languages, sides, strict=True):
                if len(side) > 1:
                    raise FormatError(
                        f"{path} has {' and '.join(side)}, which are both {language}: set "
                        f"{self.both('language', 'or')} to one of them"
                    )
            if all(sides):
                both.append((unit[sides[0][0]], unit[sides[1][0]]))
        if not both:
            raise self.refusal(path, found)
        rest = "" if len(both) == len(units) else f", in {len(both):,} of {len(units):,}"
        self.say(f"{path}: source is {', '.join(codes[0])}, target {', '.join(codes[1])}{rest}")
        return both

    def by_name(self, names: Sequence[str]) -> tuple[int, int] | None:
        """Return the columns that are named for the languages, or source and target; None if that is in doubt."""
        words = [set(re.findall(r"[^\W\d_]+", name.casefold())) for name in names]
        labels = [language_names(each) if each else frozenset[str]() for each in self.languages]
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

    def choose(self, path: File, names: Sequence[str]) -> tuple[int, int]:
        """Return the places of source and target among named columns.

        Raises:
            FormatError: A column is not there, or the names leave a doubt.
        """
        listed = ", ".join(names)
        if not self.named:
            found = self.by_name(names)
            if found is None:
                raise FormatError(
                    f"{path} has the columns {listed}: set {self.both('column')} to the two that are source and target"
                )
            self.say(f"{path}: source is the column {names[found[0]]}, target the column {names[found[1]]}")
            return found
        places = []
        for key, column in zip(("source_column", "target_column"), self.wanted, strict=True):
            if column in names:
                places.append(names.index(str(column)))
            elif str(column).isdecimal() and 1 <= int(str(column)) <= len(names):
                places.append(int(str(column)) - 1)
            else:
                raise FormatError(f"{self.prefix}{key}={column}: {path} has no such column; it has {listed}")
        if places[0] == places[1]:
            raise FormatError(
                f"{self.prefix}source_column={self.wanted[0]} and {self.prefix}target_column={self.wanted[1]} are both "
                f"{names[places[0]]}"
            )
        return places[0], places[1]

    def require_text(self, path: File, names: Sequence[str], columns: Mapping[str, Iterable[object]]) -> None:
        """Refuse columns that were found by their names and hold no text, such as ``id``, a number and Indonesian.

        Raises:
            FormatError: One of the columns, given by their names, has only numbers.
        """
        for name, cells in ({} if self.named else columns).items():
            if no_text([str(cell) for cell in cells if cell is not None]) == "numbers":
                raise FormatError(
                    f"{path}: the column {name} has only numbers: set {self.both('column')} to two of {', '.join(names)}"
                )

    def by_content(self, path: File, rows: Sequence[Sequence[str]]) -> tuple[int, int]:
        """Return the places of source and target in a table without names: the first two if they can be text.

        Two columns that follow one column of numbers each, as tatoeba.org exports pairs, are found.

        Raises:
            FormatError: One of the first two columns has only numbers, addresses or a single value.
        """
        width = len(rows[0])
        kinds = [no_text([row[place] for row in rows if place < len(row)]) for place in range(width)]
        numbers = [kind == "numbers" for kind in kinds]
        if width == 4 and numbers == [True, False, True, False]:
            self.say(f"{path}: columns 1 and 3 have only numbers: source is column 2, target column 4")
            return 1, 3
        for place, kind in enumerate(kinds[:2]):
            if kind:
                raise FormatError(
                    f"{path}: column {place + 1} has only {kind}: set {self.both('column')} to the numbers of the two columns "
                    f"with text, of 1 to {width}"
                )
        return 0, 1

    def pairs(
        self,
        path: File,
        names: Sequence[str],
        columns: Callable[[str], Sequence[Any]],
        numbers: Iterable[int],
        unit: str,
    ) -> Iterator[Pair]:
        """Yield the pairs of records with named fields; null is blank.

        Args:
            path: The file, for messages.
            names: Those of the fields.
            columns: Returns the values of a field.
            numbers: The place of each record.
            unit: What the places are, for messages.

        Raises:
            FormatError: It is not clear which fields are meant, or a value is a list or an object.
        """
        chosen = {names[place]: columns(names[place]) for place in self.choose(path, names)}
        self.require_text(path, names, chosen)
        for number, source, target in zip(numbers, *chosen.values(), strict=True):
            try:
                yield Pair(cell_text(source), cell_text(target), number)
            except TypeError as error:
                raise FormatError(
                    f"{path}, {unit} {number}: a {error}, not a text: name other columns"
                ) from error


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
    if value is None or (isinstance(value, float) and isnan(value)):  # as some programs write null
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(f"{type(value).__name__}")
