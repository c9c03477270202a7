"""Configuration files are data: what Hydra would import or call because a file says so is refused.

Hydra builds objects from nodes of its own section, such as callbacks, launchers and log handlers,
before the program sees the configuration; so the files are read here first.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from seq2seq.errors import InputError

NAMES_CODE = frozenset({"_target_", "()", "class", "searchpath"})
"""Keys by which a file names something to import, or further folders of files."""

OWN_CODE = "seq2seq."
"""Beginning of the only names that may be imported: this program's."""

FOLDER_OPTIONS = ("--config-dir", "-cd", "--config-path", "-cp")


def require_plain_config(folder: Path, arguments: Sequence[str]) -> None:
    """Refuse configuration that names code, in all files that Hydra may read.

    Args:
        folder: of the program's configuration.
        arguments: the command line, which may name other folders.

    Raises:
        InputError: naming the file, or the argument.
    """
    for argument in arguments:
        key = argument.partition("=")[0]
        if any(part in key for part in ("_target_", "searchpath", "()")):
            raise InputError(f"{argument}: configuration cannot name code or other folders")
    for place in (folder, *_other_folders(arguments)):
        for path in sorted(place.rglob("*.y*ml")):
            _require_plain_file(path)


def _other_folders(arguments: Sequence[str]) -> Iterator[Path]:
    for option, following in pairwise((*arguments, "")):
        name, _, value = option.partition("=")
        if name in FOLDER_OPTIONS:
            yield Path(value or following)
        elif option[:3] in FOLDER_OPTIONS and not option.startswith("--"):
            yield Path(option[3:])


def _require_plain_file(path: Path) -> None:
    try:
        content = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} is no plain YAML: {reason}") from error
    for key, value in _entries(content):
        if key in NAMES_CODE and not str(value).startswith(OWN_CODE):
            raise InputError(f"{path}: {key}: {value} names code, and configuration cannot")


def _entries(content: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield str(key), value
            yield from _entries(value)
    elif isinstance(content, list):
        for value in content:
            yield from _entries(value)
