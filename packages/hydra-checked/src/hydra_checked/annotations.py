"""Annotations as plain data: a list of alternatives, such as ``[{"is": "int", "ge": 1}, {"is": "null"}]``.

What is not listed in `KINDS` is ``{"is": "any"}``, which every value fits.
"""

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from inspect import Parameter
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hydra_checked.signatures import arguments_of, needed_by

KINDS: dict[Any, tuple[str, str]] = {
    int: ("int", "a whole number"), float: ("float", "a number"), bool: ("bool", "true or false"), str: ("str", "text"),
    type(None): ("null", "null"), list: ("list", "a list"), Sequence: ("list", "a list"), tuple: ("tuple", "a list"),
    dict: ("dict", "a mapping"), Mapping: ("dict", "a mapping"), Callable: ("call", "a node with _target_"), Literal: ("choice", ""),
}  # fmt: skip
BOUNDS = {
    "ge": (operator.ge, "from"), "gt": (operator.gt, "above"), "le": (operator.le, "to"), "lt": (operator.lt, "to below"),
}  # fmt: skip
WORDS = dict(KINDS.values()) | {"node": "a mapping"}
Kind = list[dict[str, Any]]


def kind_of(hint: Any) -> Kind:
    """Return an annotation as a list of alternatives; bounds are those of `annotated_types`.

    A dataclass is a node that has its fields as keys.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return [each for part in arguments for each in kind_of(part)]
    if origin is Annotated:
        bounds = [(name, getattr(each, name, None)) for each in arguments[1:] for name in BOUNDS]
        kept = {name: bound for name, bound in bounds if bound is not None}
        return [each if each["is"] == "null" else each | kept for each in kind_of(arguments[0])]
    if is_dataclass(hint):
        keys = {name: kind_of(inner) for name, inner in arguments_of(hint)[0].items()}
        return [{"is": "node", "keys": keys, "needs": needed_by(hint)}]
    name = next((name for kind, (name, _) in KINDS.items() if kind in (hint, origin)), "any")
    if name == "list" and arguments:
        return [{"is": name, "of": kind_of(arguments[0])}]
    if name == "tuple" and arguments and Ellipsis not in arguments:
        return [{"is": name, "size": len(arguments)}]
    return [{"is": name, "of": list(arguments)}] if name == "choice" else [{"is": name}]


def leaves(kinds: Mapping[str, Kind], key: str = "") -> Iterator[tuple[str, Kind]]:
    """Yield every dotted key of kinds by name, those of dataclasses in place of theirs."""
    for name, kind in kinds.items():
        place, nodes = f"{key}.{name}" if key else name, [each for each in kind if each["is"] == "node"]
        for each in nodes:
            yield from leaves(each["keys"], place)
        if len(nodes) < len(kind):
            yield place, [each for each in kind if each not in nodes]


def fits(value: Any, kind: Kind) -> bool:
    """Return whether a value is one of the alternatives; null and nodes with ``_target_`` may become one."""
    is_node = isinstance(value, dict) and "_target_" in value
    return value is None or is_node or any(_is(value, each) for each in kind)


def _is(value: Any, each: Mapping[str, Any]) -> bool:
    name, of = each["is"], each.get("of")
    if name in ("int", "float"):
        numbers = int if name == "int" else (int, float)
        if not isinstance(value, numbers) or isinstance(value, bool) or math.isnan(value):
            return False
        return all(keeps(value, each[bound]) for bound, (keeps, _) in BOUNDS.items() if bound in each)
    if name in ("list", "tuple"):
        size = len(value) if isinstance(value, list) else -1
        return size >= 0 and each.get("size", size) == size and all(fits(part, of) for part in value if of)
    if name == "choice":
        return value in each["of"]
    plain = {"bool": bool, "str": str, "dict": dict, "node": dict}.get(name)
    return isinstance(value, plain) if plain else name == "any"


def takes_null(kind: Kind, default: Any) -> bool:
    """Return whether null stands for a value: it is an alternative, or as good as a default that is false, a choice or text."""
    names = {each["is"] for each in kind}
    if names & {"null", "int", "float", "list", "call"}:
        return "null" in names
    return "any" in names or default is not (Parameter.empty if "bool" not in names else True)


def in_words(kind: Kind) -> str:
    """Return the alternatives in words."""
    said = [WORDS.get(each["is"], "") + _details(each) for each in kind if each["is"] != "null"]
    return " or ".join(filter(None, dict.fromkeys(said)))


def _details(each: Mapping[str, Any]) -> str:
    if each["is"] == "choice":
        return f"one of {', '.join(dict.fromkeys(map(str, each['of'])))}"
    if "of" in each or "size" in each:
        return f" of {in_words(each['of']) if 'of' in each else each['size']}"
    return "".join(f" {words} {each[bound]:,}" for bound, (_, words) in BOUNDS.items() if bound in each)
