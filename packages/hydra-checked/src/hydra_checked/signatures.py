"""The arguments of classes and functions."""

import inspect
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Unpack, get_args, get_origin, get_type_hints


def arguments_of(target: Any) -> tuple[dict[str, Any], bool]:
    """Return the arguments of a class or function by name, with their annotations, and whether it takes any others.

    The names in ``**options: Unpack[Options]`` are those of the `TypedDict` Options; other ``**options`` of a class go
    to its base classes, whose arguments are therefore among them. An annotation that is absent or unknown is None.
    """
    arguments, takes_any = _own_arguments(target)
    bases: tuple[Any, ...] = target.__mro__[1:-1] if inspect.isclass(target) else ()
    for base in bases:
        if takes_any and "__init__" in vars(base):
            others, takes_any = _own_arguments(base.__init__)
            arguments = {name: hint for name, hint in others.items() if name != "self"} | arguments
    return arguments, takes_any


def _own_arguments(target: Any) -> tuple[dict[str, Any], bool]:
    arguments: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    takes_any = False
    with suppress(NameError, TypeError, AttributeError):  # names that exist for type checkers only
        hints = get_type_hints(target.__init__ if inspect.isclass(target) else target, include_extras=True)
    for name, parameter in parameters_of(target).items():
        hint = hints.get(name)
        if parameter.kind is parameter.VAR_KEYWORD and get_origin(hint) is Unpack:
            arguments |= get_type_hints(get_args(hint)[0], include_extras=True)
        elif parameter.kind is parameter.VAR_KEYWORD:
            takes_any = True
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            arguments[name] = hint | None if parameter.default is None and isinstance(hint, type) else hint
    return arguments, takes_any


def parameters_of(target: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class or function; any others, where it does not say which."""
    try:
        return inspect.signature(target).parameters
    except ValueError:  # a builtin
        return {"options": inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD)}


def needed_by(target: Any) -> list[str]:
    """Return the arguments without a default."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return [
        name
        for name, each in parameters_of(target).items()
        if each.default is each.empty and each.kind in kinds
    ]


def unlike(target: type, base: type) -> str | None:
    """Return in words how a class differs from a base class in what its methods take; None where it does not.

    It need not be derived from the base class, whose calls its methods take; of arguments with a default there may be fewer.
    """
    for name, method in vars(base).items():
        own, where = getattr(target, name, None), f"{target.__module__}.{target.__qualname__}.{name}"
        if not inspect.isfunction(method) or (name[0] == "_" or own is method):
            continue
        takes = list(inspect.signature(method).parameters.values())
        shown = f"({', '.join(each.name for each in takes[1:])})"
        if own is None and name in getattr(base, "__abstractmethods__", ()):
            return f"{where} is missing; it takes {shown}"
        try:
            needed = [each.name for each in takes if each.default is each.empty]
            inspect.signature(own or method).bind(*needed)
        except TypeError:
            return f"{where} takes ({', '.join(list(parameters_of(own))[1:])}); {{}} takes {shown}"
    return None
