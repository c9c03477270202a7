"""The arguments of classes and functions."""

import inspect
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Unpack, get_args, get_origin, get_type_hints


def arguments_of(target: Any) -> tuple[dict[str, Any], bool]:
    """Return the arguments of a class or function by name, with their annotations, and whether it takes any others.

    The names in ``**options: Unpack[Options]`` are those of the `TypedDict` Options; other ``**options`` of a class go
    to its base classes, whose arguments are therefore among them. Annotations that cannot be resolved, and absent
    ones, are None.
    """
    arguments, takes_any = _own_arguments(target)
    bases: tuple[Any, ...] = target.__mro__[1:] if inspect.isclass(target) else ()
    for base in bases:
        if takes_any and "__init__" in vars(base) and base is not object:
            others, takes_any = _own_arguments(base.__init__)
            others.pop("self", None)
            arguments = others | arguments
    return arguments, takes_any


def _own_arguments(target: Any) -> tuple[dict[str, Any], bool]:
    arguments: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    takes_any = False
    with suppress(NameError, TypeError, AttributeError):  # names that exist for type checkers only
        hints = get_type_hints(target.__init__ if inspect.isclass(target) else target, include_extras=True)
    for name, parameter in parameters_of(target).items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if parameter.kind is not parameter.VAR_KEYWORD:
            hint = hints.get(name)
            arguments[name] = hint | None if parameter.default is None and isinstance(hint, type) else hint
        elif get_origin(hints.get(name)) is Unpack:
            arguments |= get_type_hints(get_args(hints[name])[0], include_extras=True)
        else:
            takes_any = True
    return arguments, takes_any


def parameters_of(target: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class or function; any others, where it does not say which."""
    try:
        return inspect.signature(target).parameters
    except ValueError:  # a builtin
        return {"options": inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD)}


def needed_by(target: Any) -> list[str]:
    """Return the arguments without a default."""
    return [
        name
        for name, parameter in parameters_of(target).items()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
