"""What the schema says of a key, in words: for messages, help and documentation."""

from collections.abc import Iterator
from dataclasses import Field, dataclass
from enum import EnumMeta
from types import NoneType
from typing import Any, get_args, get_origin

from seq2seq.config import all_keys, data_schemas, described_keys

TYPE_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of the configuration.

    Attributes:
        key: such as ``optim.learning_rate``.
        meaning: what it means.
        unit: of the value; empty where it has none.
        choices: names that the value is one of; empty where it is free.
        expected: the values it takes, in words.
    """

    key: str
    meaning: str
    unit: str
    choices: tuple[str, ...]
    expected: str


def settings_of(schema: type, prefix: str = "") -> Iterator[Setting]:
    """The keys of a section, those of its sections included."""
    return (_setting(*described) for described in described_keys(schema, prefix))


def setting_of(key: str) -> Setting | None:
    """The setting of a key, of whichever corpus; None where there is none."""
    described = all_keys().get(key)
    return None if described is None else _setting(key, described)


def corpora_with(key: str) -> list[str]:
    """Names of the corpora that have a key."""
    return [
        name for name, data in data_schemas().items() if key in dict(described_keys(data, "data."))
    ]


def is_section(key: str) -> bool:
    """Whether a key has keys below it."""
    return any(found.startswith(f"{key}.") for found in all_keys())


def _setting(key: str, described: "Field[Any]") -> Setting:
    types = get_args(described.type) or (described.type,)
    plain = next(kind for kind in types if kind is not NoneType)
    named = tuple(described.metadata["names"]())
    choices = tuple(plain.__members__) if isinstance(plain, EnumMeta) else named
    listed = ", ".join(choices)
    if listed and get_origin(described.type) is list:
        listed = f"a list, [{choices[0]}], of any of {listed}"
    expected = listed or _range(TYPE_NAMES[plain], described)
    return Setting(
        key=key,
        meaning=described.metadata["meaning"],
        unit=described.metadata["unit"],
        choices=choices,
        expected=f"{expected}; or null" if NoneType in types else expected,
    )


def _range(type_name: str, described: "Field[Any]") -> str:
    low, high = described.metadata["low"], described.metadata["high"]
    if low is None:
        return type_name
    bounds = f"{low:.12g} or more" if high is None else f"{low:.12g} to {high:.12g}"
    return f"{type_name}, {bounds}"
