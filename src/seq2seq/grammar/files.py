"""Reading the grammar's YAML files."""

from pathlib import Path
from typing import Any

import yaml

from seq2seq.errors import InputError


class GrammarFileError(InputError):
    """A file of the grammar is missing or malformed."""


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds.

    Raises:
        GrammarFileError: it cannot be read, or is no mapping.
    """
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, yaml.YAMLError) as error:
        raise GrammarFileError(f"{path} cannot be read: {error}".replace("\n", " ")) from error
    if not isinstance(data, dict):
        raise GrammarFileError(f"{path} holds no mapping")
    return data
