"""A configuration read back from a run folder, by the constructors of the schema alone.

Nothing of the file is interpolated or imported: it can hold values and nothing else.
"""

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from seq2seq.config import (
    CORPORA,
    DATA_SCHEMAS,
    AttentionOptions,
    Config,
    DataConfig,
    SweepConfig,
    attention_options,
)
from seq2seq.errors import InputError
from seq2seq.own_files import CONF
from seq2seq.plain_text import shortened
from seq2seq.storage.plain_yaml import load_plain_yaml

NO_SWEEP = CONF / "sweep" / "grid.yaml"
"""What a saved configuration lacks: a run does not know of sweeps."""

WRONG = (ValueError, TypeError, KeyError, AttributeError, OverflowError)


def load_config(run_dir: Path) -> Config:
    """The configuration of a run.

    Raises:
        InputError: the file is missing or damaged, or of another version of the schema.
    """
    sweep = _read(NO_SWEEP, SweepConfig, {})
    return _read(run_dir / "config.yaml", Config, {"sweep": sweep})


def _read(path: Path, schema: Any, given: Mapping[str, Any]) -> Any:
    values = load_plain_yaml(path)
    try:
        return _build(schema, values, "", given)
    except (*WRONG, ImportError) as error:
        raise InputError(
            f"{path} is no configuration of this program: {shortened(error)}"
        ) from error


def _build(schema: Any, values: Any, prefix: str, given: Mapping[str, Any]) -> Any:
    if not isinstance(values, Mapping):
        raise TypeError(f"{prefix or 'the file'} holds no keys")
    names = {described.name for described in fields(schema)} - given.keys()
    if names != values.keys():
        wrong = ", ".join(sorted(f"{prefix}{name}" for name in names ^ values.keys()))
        raise ValueError(f"keys too many or missing: {wrong}")
    kinds = typing.get_type_hints(schema)
    if kinds.get("options") is AttentionOptions:
        kinds["options"] = attention_options(values["kind"])
    built = {name: _value(kinds[name], values[name], f"{prefix}{name}") for name in names}
    return schema(**built, **given)


def _value(kind: Any, value: Any, key: str) -> Any:
    if kind is DataConfig:
        kind = _data_schema(value)
    if is_dataclass(kind):
        return _build(kind, value, f"{key}.", {})
    if typing.get_origin(kind) is dict:
        return dict(value)
    if typing.get_origin(kind) is list:
        (element,) = typing.get_args(kind)
        if not isinstance(value, list):
            raise ValueError(f"{key}={value!r} is no list")
        return [_value(element, each, f"{key}[{place}]") for place, each in enumerate(value)]
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None and type(None) in options:
        return None
    (kind,) = (option for option in options if option is not type(None))
    if issubclass(kind, Enum):
        return kind[value]
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise ValueError(f"{key}={value!r} is no {kind.__name__}")
    return kind(value)


def _data_schema(values: Any) -> Any:
    """The schema that the corpus names, or whose keys it has."""
    if "corpus" in values:
        return CORPORA[values["corpus"]].options
    for schema in DATA_SCHEMAS.values():
        if {described.name for described in fields(schema)} == set(values):
            return schema
    raise ValueError("data has the keys of no corpus")
