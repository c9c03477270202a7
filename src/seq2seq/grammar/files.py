"""Reading the grammar's YAML files."""

from pathlib import Path
from typing import Any

from seq2seq.errors import InputError
from seq2seq.storage.plain_yaml import load_plain_yaml


class GrammarFileError(InputError):
    """A file of the grammar is missing or malformed."""


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds.

    Raises:
        GrammarFileError: it cannot be read, or is no mapping.
    """
    try:
        data = load_plain_yaml(path)
    except InputError as error:
        raise GrammarFileError(str(error)) from error
    if not isinstance(data, dict):
        raise GrammarFileError(f"{path} holds no mapping")
    return data
