"""Values that no file should hold, and files in which they stand in for others."""

import json
import random
from collections.abc import Iterator
from typing import Any

ODD = (
    "null", "true", "false", "0", "-1", "1", "2", "0.5", "2147483648", "9223372036854775807",
    "18446744073709551616", "1" + "0" * 400, "-1" + "0" * 400, "1" * 5000, "1e308", "-1e308",
    "1e-320", "1e400", "NaN", "Infinity", "-Infinity", '""', '"x"', '"[/x] [red]y[/red]"',
    r'"\u001b[31m\u0007\r"', r'"\ud800"', '"=1+1"', '"../../x"', json.dumps("a" * 100_000), "[]",
    "[1]", '["x", null]', "{}", '{"x": 1}', '{"bleu": "x"}', "[" * 5000 + "]" * 5000, "[" * 5000,
)  # fmt: skip
"""JSON texts; some are none."""

PLACE = "@ the odd one @"


def variants(value: Any, share: float, seed: int) -> Iterator[tuple[str, bytes]]:
    """JSON files like one that is as it should be, but for a field.

    Every field takes every odd value, is left out, and gets a neighbour that nobody knows; after
    that as many files have two odd fields. Yields a share of them, drawn at random.
    """
    generator = random.Random(seed)
    fields = list(paths(value))
    cases = [(path, odd) for path in fields for odd in (*ODD, None)]
    for path, odd in generator.sample(cases, max(round(len(cases) * share), 1)):
        yield f"{_name(path)}: {str(odd)[:30]}", _with(value, path, odd)
        other, second = generator.choice(cases)
        if other[: len(path)] != path and path[: len(other)] != other:
            twice = _with(json.loads(_with(value, path, json.dumps(PLACE * 2))), other, second)
            text = twice.replace(json.dumps(PLACE * 2).encode(), (odd or "{}").encode())
            yield f"{_name(path)}, {_name(other)}: {str(odd)[:30]}, {str(second)[:30]}", text
    yield "a neighbour", json.dumps(value | {"neighbour": 1}).encode()
    for content in (b"", b"{", b"[]", b"null", b"\xff", b"\xef\xbb\xbf{}", b"{}" * 9):
        yield repr(content), content


def paths(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The places of all fields."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2])
    for key, part in items:
        yield (*path, key)
        if isinstance(part, dict | list | tuple):
            yield from paths(part, (*path, key))


def replaced(value: Any, path: tuple, odd: Any, *, leave_out: bool = False) -> Any:
    """A copy with another value at a place, or with none."""
    key, rest = path[0], path[1:]
    copy = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        copy[key] = replaced(copy[key], rest, odd, leave_out=leave_out)
    elif leave_out:
        del copy[key]
    else:
        copy[key] = odd
    return tuple(copy) if isinstance(value, tuple) else copy


def _with(value: Any, path: tuple, odd: str | None) -> bytes:
    text = json.dumps(replaced(value, path, PLACE, leave_out=odd is None))
    return text.replace(json.dumps(PLACE), odd or "").encode()


def _name(path: tuple) -> str:
    return ".".join(map(str, path))
