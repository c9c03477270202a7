"""Records with named fields: JSON lines, a JSON list of objects, Parquet."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from seq2seq.common.arguments import flat
from seq2seq.common.files import on_disk
from seq2seq.data.formats.columns import Columns, cell_text
from seq2seq.data.formats.kinds import refusal
from seq2seq.data.text import SentencePair, open_text
from seq2seq.errors import InputError


def read_json(path: str, columns: Columns) -> list[SentencePair]:
    """Read objects, one a line or in one list; ``{"translation": {"en": …}}`` has the column ``translation.en``.

    Raises:
        InputError: A line is no object, or it is not clear which fields are meant.
    """
    with open_text(path) as file:
        content = file.read()
    number = 0
    try:
        text = content.decode("utf-8-sig")
        if text.lstrip().startswith("["):
            found = json.loads(text)
        else:
            found = []
            for number, line in enumerate(text.split("\n"), start=1):  # noqa: B007
                if line.strip():
                    found.append(json.loads(line))
    except ValueError as error:
        where = f", line {number}" if number else ""
        raise InputError(f"{path}{where} is not JSON ({error}): write one object a line") from error
    if not found or not all(isinstance(each, dict) for each in found):
        raise InputError(f'{path} holds no objects: write one a line, such as {{"en": …, "fr": …}}')
    rows = [flat(each) for each in found]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(rows) == 1 and not columns.named and columns.by_name(names) is None:
        raise refusal(path, "one JSON object")
    places = columns.choose(path, names)
    columns.require_text(
        path, names, {names[place]: [row.get(names[place]) for row in rows] for place in places}
    )
    return to_pairs(path, ([row.get(names[place]) for place in places] for row in rows))


def read_parquet(path: str, columns: Columns) -> list[SentencePair]:
    """Read a Parquet file by the package pyarrow.

    Raises:
        InputError: The package is missing, the file is damaged, or it is not clear which columns are meant.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(f"{path} is Parquet, which needs a package: pip install pyarrow") from error
    try:
        with parquet.ParquetFile(on_disk(path)) as file:
            table = file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path} is damaged or cannot be read: {error}") from error
    while any(pyarrow.types.is_struct(each.type) for each in table.schema):
        table = table.flatten()
    names = table.column_names
    places = columns.choose(path, names)
    cells = [table.column(place).to_pylist() for place in places]
    columns.require_text(path, names, {names[place]: own for place, own in zip(places, cells, strict=True)})
    return to_pairs(path, zip(*cells, strict=True))


def to_pairs(path: str, rows: Iterable[Sequence[Any]]) -> list[SentencePair]:
    """Return sentence pairs of rows of two cells; null is blank.

    Raises:
        InputError: A cell is a list or an object.
    """
    pairs = []
    for number, (source, target) in enumerate(rows, start=1):
        try:
            pairs.append(SentencePair(cell_text(source), cell_text(target)))
        except TypeError as error:
            raise InputError(f"{path}, row {number}: a {error}, not a text: name other columns") from error
    return pairs
