"""Tables in text: columns separated by tabs, commas, semicolons or ``|||``, with or without quotes and a header."""

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bitext.columns import Columns
from bitext.files import lines, read_lines
from bitext.pair import File, FormatError, Pair, counted

BARS = " ||| "
SAMPLE = 1000
"""Number of rows by which columns are told."""
QUOTED = re.compile(r'"(?:[^"]|"")*"')


def is_table(path: File) -> bool:
    """Return whether a text file has columns: a tab or ``|||`` in every line with text, or a name that ends in .csv."""
    rows = lines(path)
    first = next(rows, "")
    mark = "\t" if "\t" in first else BARS
    if mark in first and all(mark in line or not line.strip() for line in rows):
        return True
    return re.search(r"(?i)\.csv(\.\w+)?$", Path(str(path)).name) is not None


def read(path: File, columns: Columns) -> Iterator[Pair]:
    """Yield the pairs of a table.

    Raises:
        FormatError: Rows are damaged, or it is not clear which columns are meant.
    """
    text = read_lines(path)
    if re.fullmatch("sep=.", text[0]):  # a line for Excel, no row
        del text[0]
    rows, numbers = split(path, text, columns)
    width = len(rows[0])  # of every row
    first = "the first line"
    if columns.is_header(rows[0]):
        first = "the header"
        header = [cell.strip() for cell in rows[0]]
        source, target = columns.choose(path, header)
        rows, numbers = rows[1:], numbers[1:]
        found = {
            header[place]: [row[place] for row in rows[:SAMPLE] if place < len(row)]
            for place in (source, target)
        }
        columns.require_text(path, header, found)
    elif columns.named:
        source, target = columns.choose(path, [str(place) for place in range(1, len(rows[0]) + 1)])
        columns.say(
            f"{path}: source is column {source + 1}, target column {target + 1}; the first line, {text[0]!r:.80}, is a pair: "
            "remove it, or give columns by name, where it holds their names"
        )
    elif is_comma_separated(path, text):
        raise FormatError(
            f"{path}: the first line, {text[0]!r:.80}, does not tell the languages: set {columns.both('column')} to two names "
            "in it, or to numbers from 1 where it is no header"
        )
    else:
        source, target = columns.by_content(path, rows[:SAMPLE])
    for number, row in zip(numbers, rows, strict=True):
        if max(source, target) >= len(row):
            raise FormatError(
                f"{path}, line {number}: {counted(len(row), 'column')}, {max(source, target) + 1} are needed"
            )
        if any(map(str.strip, row[width:])):
            raise FormatError(
                f"{path}, line {number}: {counted(len(row), 'column')}, where {first} has {width}: write text that holds the "
                "mark between columns in quotes"
            )
        yield Pair(row[source], row[target], number)


def is_comma_separated(path: File, lines: list[str]) -> bool:
    """Return whether a table has commas or semicolons between its columns."""
    return "\t" not in lines[0] and BARS not in lines[0] and is_table(path)


def split(path: File, lines: list[str], columns: Columns) -> tuple[list[list[str]], list[int]]:
    """Return the cells of each row, and the number of its line; a blank line is no row."""
    has_line_ends = has_breaks(lines)
    if "\t" in lines[0] or BARS in lines[0] or has_line_ends:
        mark = "\t" if "\t" in lines[0] or has_line_ends else BARS
        numbers = [place for place, line in enumerate(lines, start=1) if mark in line or line.strip()]
        rows = [lines[number - 1].split(mark) for number in numbers]
        if mark == "\t" and (has_line_ends or has_csv_marks([cell for row in rows[:SAMPLE] for cell in row])):
            columns.say(f"{path}: cells have the quotes of CSV, which are taken off")
            return quoted(path, lines, "\t")
        for number, row in zip(numbers, rows, strict=True):
            if len(row) < 2:
                raise FormatError(
                    f"{path}, line {number}: no tab: give source and target separated by a tab{wrong_quote(lines)}"
                    if mark == "\t"
                    else f"{path}, line {number}: no {BARS.strip()} between source and target"
                )
        return rows, numbers
    for mark in ",;":
        if mark not in lines[0]:
            continue
        header = next(csv.reader(lines[:1], delimiter=mark))
        if len(header) > 1 and (is_comma_separated(path, lines) or columns.is_header(header)):
            rows, numbers = quoted(path, lines, mark)
            if mark == ";" or len({len(row) for row in rows}) == 1 or ";" not in lines[0]:
                return rows, numbers
    raise FormatError(
        f"{path}, line 1: no tab, comma or semicolon between source and target: separate them by a tab"
    )


def wrong_quote(lines: list[str]) -> str:
    """Return which quote is in the way where others may hold line ends; nothing where none is."""
    try:
        quoted("", lines, "\t")
    except FormatError as error:
        return f"; or, where quotes hold line ends, mend{str(error).removeprefix(',')}"
    return ""


def has_csv_marks(cells: list[str]) -> bool:
    """Return whether cells are quoted as in CSV: all, or some that hold doubled quotes, and no quote stands otherwise."""
    begun = [cell for cell in cells if cell.startswith('"')]
    proper = [cell for cell in begun if QUOTED.fullmatch(cell)]
    return bool(begun) and begun == proper and (begun == cells or any('""' in cell for cell in begun))


def has_breaks(lines: list[str]) -> bool:
    """Return whether quotes hold line ends between tabs: lines differ in their number of cells, rows of CSV do not."""
    widths = {line.count("\t") for line in lines if line.strip()}
    with suppress(FormatError):
        return len(widths) > 1 and len({len(row) for row in quoted("", lines, "\t")[0]}) == 1
    return False


def quoted(path: File, lines: list[str], mark: str) -> tuple[list[list[str]], list[int]]:
    """Read rows with the quotes of CSV; a line end within quotes is a space."""
    old = csv.field_size_limit(1 << 30)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=mark, strict=True)
    rows, numbers, number = [], [], 1
    try:
        for row in reader:
            if row:
                rows.append([" ".join(cell.split("\n")) for cell in row])
                numbers.append(number)
            number = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(
            f"{path}, line {number}: {error}: a quote within a cell is written twice"
        ) from error
    finally:
        csv.field_size_limit(old)
    return rows, numbers
