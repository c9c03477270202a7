"""Annotations as plain data: a list of alternatives, such as ``[{"is": "int", "ge": 1}, {"is": "null"}]``.

What is not listed in `KINDS` is ``{"is": "any"}``, which every value fits.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

KINDS: dict[Any, tuple[str, str]] = {
    int: ("int", "a whole number"), float: ("float", "a number"), bool: ("bool", "true or false"), str: ("str", "text"),
    type(None): ("null", "null"), list: ("list", "a list"), Sequence: ("list", "a list"), tuple: ("tuple", "a list"),
    dict: ("dict", "a mapping"), Mapping: ("dict", "a mapping"), Callable: ("call", "a node with _target_"), Literal: ("choice", ""),
}  # fmt: skip
BOUNDS = {
    "ge": (operator.ge, "from"),
    "gt": (operator.gt, "above"),
    "le": (operator.le, "to"),
    "lt": (operator.lt, "to below"),
}
WORDS = dict(KINDS.values())
Kind = list[dict[str, Any]]


def kind_of(hint: Any) -> Kind:
    """Return an annotation as a list of alternatives; bounds are those of `annotated_types`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return [each for part in arguments for each in kind_of(part)]
    if origin is Annotated:
        bounds = {
            name: getattr(each, name, None)
            for each in arguments[1:]
            for name in BOUNDS
            if hasattr(each, name)
        }
        kept = {name: bound for name, bound in bounds.items() if bound is not None}
        return [each if each["is"] == "null" else each | kept for each in kind_of(arguments[0])]
    name = next((name for kind, (name, _) in KINDS.items() if kind in (hint, origin)), "any")
    if name == "list" and arguments:
        return [{"is": name, "of": kind_of(arguments[0])}]
    if name == "tuple" and Ellipsis not in arguments:
        return [{"is": name, "size": len(arguments)}]
    return [{"is": name, "of": list(arguments)}] if name == "choice" else [{"is": name}]


def fits(value: Any, kind: Kind) -> bool:
    """Return whether a value is one of the alternatives; null and nodes with ``_target_`` may become one."""
    return (
        value is None
        or (isinstance(value, dict) and "_target_" in value)
        or any(_is(value, each) for each in kind)
    )


def _is(value: Any, each: Mapping[str, Any]) -> bool:
    name, of = each["is"], each.get("of")
    if name == "choice":
        return value in each["of"]
    if name in ("int", "float"):
        is_number = isinstance(value, int if name == "int" else (int, float)) and not isinstance(value, bool)
        return (
            is_number
            and not math.isnan(value)
            and all(keeps(value, each[bound]) for bound, (keeps, _) in BOUNDS.items() if bound in each)
        )
    if name in ("list", "tuple"):
        return (
            isinstance(value, list)
            and len(value) == each.get("size", len(value))
            and all(fits(part, of) for part in value if of)
        )
    plain = {"bool": bool, "str": str, "dict": dict}.get(name)
    return isinstance(value, plain) if plain else name == "any"


def takes_null(kind: Kind, default: Any) -> bool:
    """Return whether null stands for a value: it is an alternative, or as good as a default that is false, a choice or text."""
    names = {each["is"] for each in kind}
    if "null" in names or default is Parameter.empty:
        return "null" in names
    return not names & {"int", "float", "list", "call"} and ("bool" not in names or default is False)


def in_words(kind: Kind) -> str:
    """Return the alternatives in words."""
    said = []
    for each in kind:
        limits = "".join(f" {words} {each[bound]:,}" for bound, (_, words) in BOUNDS.items() if bound in each)
        of = {
            "list": lambda of: f" of {in_words(of)}",
            "choice": lambda of: f"one of {', '.join(dict.fromkeys(map(str, of)))}",
        }
        more = (
            of[each["is"]](each["of"])
            if "of" in each
            else f" of {each['size']}"
            if "size" in each
            else limits
        )
        said += [WORDS[each["is"]] + more] if each["is"] not in ("any", "null") else []
    return " or ".join(dict.fromkeys(said))
