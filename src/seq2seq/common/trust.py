"""Whose code may run.

What a user writes, on the command line or into a file of the configuration, may name any class. A model folder may
be somebody else's: it may name parts of this program, and other classes only with ``trust_custom_code=True``. From
version 1.4 on, Hydra builds objects by a list of packages: those of the program, and those that the configuration
names. It refuses what runs text as code or starts programs (``eval``, ``os.system``) in every package.
"""

from collections.abc import Iterable, Mapping
from typing import Any

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
