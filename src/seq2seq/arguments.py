"""Arguments of classes that a configuration or a stored description names."""

import inspect
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Unpack, get_args, get_origin, get_type_hints


def arguments_of(target: Any) -> tuple[dict[str, Any], bool]:
    """Return the arguments of a class or function by name, with their annotations, and whether it takes any others.

    The names in ``**options: Unpack[Options]`` are those of the `TypedDict` Options. Annotations that cannot be
    resolved, and absent ones, are None.
    """
    hints: dict[str, Any] = {}
    for part in reversed(target.__mro__) if inspect.isclass(target) else [target]:  # **options go to a base
        with suppress(NameError, TypeError, AttributeError):  # names that exist for type checkers only
            hints |= get_type_hints(part.__init__ if inspect.isclass(part) else part)
    arguments, takes_any = {}, False
    for name, parameter in inspect.signature(target).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            arguments[name] = hints.get(name)
        elif get_origin(hints.get(name)) is Unpack:
            arguments |= get_type_hints(get_args(hints[name])[0])
        else:
            takes_any = True
    return (hints | arguments if takes_any else arguments), takes_any


def without_unknown(target: Any, stored: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the stored arguments that a class or function has; a line on stderr names the others.

    A checkpoint, run or model folder of an earlier version may hold arguments that no longer exist.
    """
    arguments, takes_any = arguments_of(target)
    unknown = [] if takes_any else [str(name) for name in stored if name not in arguments]
    if unknown:
        _tell(f"WARNING: {where}: {target.__name__} has no argument {', '.join(unknown):.200}; left out")
    return {name: value for name, value in stored.items() if name not in unknown}


@cache
def _tell(line: str) -> None:
    """Print a line on stderr, once a process: a model folder is built twice."""
    print(line, file=sys.stderr)
