"""YAML that anybody may have written: values within bounds, so that no small file becomes large."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from seq2seq.errors import InputError
from seq2seq.plain_text import shortened
from seq2seq.storage.typed_json import read_bytes

MOST_BYTES = 1 << 20
MOST_VALUES = 10_000
MOST_DEPTH = 30
LONG_WORD = re.compile(r"[\w.:+-]{300,}")
"""Unquoted, it may be a number that takes a long time to read, and fits nowhere."""


def load_plain_yaml(path: Path) -> Any:
    """What a YAML file holds.

    Raises:
        InputError: see `plain_yaml`; or something cannot be a key, or a number.
    """
    text, _ = plain_yaml(path)
    try:
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise InputError(f"{path} is no plain YAML: {shortened(error)}") from error


def plain_yaml(path: Path) -> tuple[str, list[str]]:
    """The text of a YAML file and the scalars in it, keys included.

    Raises:
        InputError: it is no file, no YAML, too large or too deep, or has aliases or tags, of which
            a short text makes something huge, or something that is no plain value.
    """
    try:
        text = read_bytes(path, MOST_BYTES).decode("utf-8-sig")
        return text, list(_scalars(text))
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path} is no plain YAML: {shortened(error)}") from error


def _scalars(text: str) -> Iterator[str]:
    depth = 0
    # an event at a time: nothing is built, and nothing beyond a bound is read
    for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if count > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES} values")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise ValueError(f"more than {MOST_DEPTH} levels")
        if refused := _refused(event):
            raise ValueError(refused)
        if isinstance(event, yaml.ScalarEvent):
            yield event.value


def _refused(event: yaml.Event) -> str | None:
    """Why a part of a text is refused, if it is."""
    if isinstance(event, yaml.AliasEvent):
        return f"*{event.anchor} stands for something else: write it out"
    if isinstance(event, yaml.CollectionStartEvent | yaml.ScalarEvent) and event.tag is not None:
        return f"{event.tag} is a tag: write a plain value"
    if isinstance(event, yaml.ScalarEvent):
        long = event.implicit[0] and LONG_WORD.fullmatch(event.value)
        if long or "\0" in event.value:
            return f"{event.value[:40]!r}… is no value of this program"
    return None
