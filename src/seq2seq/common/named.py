"""Classes that a configuration, a checkpoint or a model folder names: whose code may run, and with which arguments.

What a user writes, on the command line or into a file of the configuration, may name any class. A model folder may
be somebody else's: it may name parts of this program, and other classes only with ``trust_custom_code=True``. From
version 1.4 on, Hydra builds objects by a list of packages: those of the program, and those that the configuration
names. It refuses what runs text as code or starts programs (``eval``, ``os.system``) in every package.
"""

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from hydra_checked import arguments_of
from hydra_checked import flat as flat  # noqa: PLC0414 - for packages that need no more of it
from seq2seq.common.errors import InputError

PARTS = "seq2seq.attention", "seq2seq.data.tokenizers", "seq2seq.models"
"""Packages and modules whose classes a model folder may name."""

PROGRAM = "seq2seq", "lightning", "torch"
"""Packages whose classes the configuration may always name."""


def is_within(target: object, packages: Iterable[str]) -> bool:
    """Return whether a dotted name is in one of the packages."""
    return str(target).startswith(tuple(f"{package}." for package in packages))


def require_trusted(target: object, where: str, *, trust_custom_code: bool) -> None:
    """Refuse a class of other packages that a model folder names.

    Raises:
        InputError: The class is not part of this program, and is not trusted.
    """
    if not trust_custom_code and not is_within(target, PARTS):
        raise InputError(
            f"{where} names {target!s:.100}, which is not part of this program: give --trust-custom-code "
            "(in Python trust_custom_code=True) if you trust where it is from"
        )


def packages_of(node: Any) -> list[str]:
    """Return the packages that objects of a configuration may come from, as patterns of Hydra's whitelist."""
    return sorted({f"{target.partition('.')[0]}.*" for target in (*named(node), *(f"{p}." for p in PROGRAM))})


def named(node: Any) -> Iterable[str]:
    """Yield the classes that a configuration names."""
    if isinstance(node, Mapping):
        yield from [str(node["_target_"])] if "_target_" in node else []
        yield from (target for value in node.values() for target in named(value))
    elif isinstance(node, list | tuple):
        yield from (target for value in node for target in named(value))


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
