"""Arguments of classes that a configuration or a stored description names."""

import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from hydra_checked import arguments_of


def without_unknown(target: Any, stored: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the stored arguments that a class or function has; a line on stderr names the others.

    A checkpoint, run or model folder of an earlier version may hold arguments that no longer exist.
    """
    unknown = tell_unknown(target, stored, where)
    return {name: value for name, value in stored.items() if name not in unknown}


def tell_unknown(target: Any, stored: Mapping[str, Any], where: str) -> list[str]:
    """Return the names of stored arguments that a class or function does not have, and name them in a line on stderr."""
    arguments, takes_any = arguments_of(target)
    unknown = [] if takes_any else [str(name) for name in stored if name not in arguments]
    if unknown:
        _tell(f"WARNING: {where}: {target.__name__} has no argument {', '.join(unknown):.200}; left out")
    return unknown


@cache
def _tell(line: str) -> None:
    """Print a line on stderr, once a process: a model folder is built twice."""
    print(line, file=sys.stderr)


def flat(node: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested dictionaries as one with dotted keys."""
    if isinstance(node, dict):
        start = f"{prefix}." if prefix else ""
        return {k: v for key, value in node.items() for k, v in flat(value, f"{start}{key}").items()}
    return {prefix: node}
