"""JSON: an object a line, or a list of objects."""

import json
from collections.abc import Iterator
from typing import Any

from bitext.columns import Columns
from bitext.files import open_bytes
from bitext.kinds import refusal
from bitext.pair import File, FormatError, Pair


def read(path: File, columns: Columns) -> Iterator[Pair]:
    """Yield the pairs of objects; ``{"translation": {"en": …}}`` has the column ``translation.en``.

    Raises:
        FormatError: A line is no object, or it is not clear which fields are meant.
    """
    with open_bytes(path) as file:
        content = file.read()
    number, numbers = 0, []
    try:
        text = content.decode("utf-8-sig")
        if text.lstrip().startswith("["):
            found, unit = json.loads(text), "row"
            numbers = [*range(1, len(found) + 1)]
        else:
            found, unit = [], "line"
            for number, line in enumerate(text.split("\n"), start=1):
                if line.strip():
                    found.append(json.loads(line))
                    numbers.append(number)
    except ValueError as error:
        where = f", line {number}" if number else ""
        raise FormatError(f"{path}{where} is not JSON ({error}): write one object a line") from error
    if not found or not all(isinstance(each, dict) for each in found):
        raise FormatError(f'{path} holds no objects: write one a line, such as {{"en": …, "fr": …}}')
    rows = [flat(each) for each in found]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(rows) == 1 and not columns.named and columns.by_name(names) is None:
        raise refusal(str(path), "one JSON object")
    yield from columns.pairs(path, names, lambda name: [row.get(name) for row in rows], numbers, unit)


def flat(node: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested dictionaries as one with dotted keys."""
    if isinstance(node, dict):
        start = f"{prefix}." if prefix else ""
        return {k: v for key, value in node.items() for k, v in flat(value, f"{start}{key}").items()}
    return {prefix: node}
