"""Hydra's and OmegaConf's errors, said in one line with a remedy."""

import difflib
import re
from collections.abc import Iterable, Sequence

from hydra.errors import (
    ConfigCompositionException,
    HydraException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from seq2seq.config import Config, known_keys
from seq2seq.errors import InputError

CONFIG_ERRORS = (HydraException, OmegaConfBaseException)
"""What Hydra and OmegaConf raise for a wrong configuration."""

COULD_NOT_OVERRIDE = re.compile(r"Could not override '([^']*)'")
MERGING_OVERRIDE = re.compile(r"Error merging override (.*)")
IN_FILE = re.compile(r"In '([^']*)': \w+ raised while composing config:\s*(.*)")
KEY_NOT_IN = re.compile(r"Key '([^']*)' not in '(\w+)'")
NO_ATTRIBUTE = re.compile(r"'(\w+)' object has no attribute '([^']*)'")


def as_config(composed: DictConfig) -> Config:
    """The typed configuration, ranges checked.

    Raises:
        InputError: a key that ``+key=value`` added is not in the schema, or a value is out of
            range.
    """
    try:
        config = OmegaConf.to_object(composed)
    except AttributeError as error:
        match = NO_ATTRIBUTE.search(str(error))
        if match is None:
            raise
        raise InputError(unknown_key(match[2])) from error
    if not isinstance(config, Config):
        raise TypeError(f"composed a {type(config).__name__}: the root config must begin at schema")
    return config


def check_overrides(arguments: Sequence[str]) -> None:
    """Refuse overrides that Hydra would stumble over.

    Raises:
        InputError: an argument has no key before its ``=``, or a number that no float can hold.
    """
    for argument in arguments:
        if argument.startswith("="):
            raise InputError(f"{argument!r} has no key: write key=value")
        if re.search(r"\d{300}", argument):
            raise InputError(f"{argument[:40]}… holds a number too large for this program")


def explain(error: Exception) -> str:
    """One line that says what is wrong with the configuration, where, and the remedy."""
    if isinstance(error, MissingMandatoryValue):
        return f"{error.full_key} is needed: add {error.full_key}=…"
    if isinstance(error, MissingConfigException):
        return _no_such_choice(error)
    if isinstance(error, OverrideParseException):
        return f"{error.override!r} cannot be read: write key=value, and quote special signs"
    if isinstance(error, ConfigCompositionException):
        return _composition(error)
    return _first_line(error)


def _composition(error: ConfigCompositionException) -> str:
    text = str(error)
    if match := COULD_NOT_OVERRIDE.search(text):
        return unknown_key(match[1])
    if match := MERGING_OVERRIDE.search(text):
        return f"{match[1].strip()}: {_first_line(_root_cause(error))}"
    if match := IN_FILE.search(text):
        file, problem = f"conf/{match[1]}.yaml", match[2]
        if key := KEY_NOT_IN.search(problem):
            return f"{file}: {unknown_key(key[1])}"
        return f"{file}: {problem}"
    return _first_line(error)


def _no_such_choice(error: MissingConfigException) -> str:
    missing = (error.missing_cfg_file or "").removesuffix(".yaml")
    group, _, choice = missing.rpartition("/")
    options = [option for option in error.options or () if option != "schema"]
    if not group:
        return _first_line(error)
    return f"{group}={choice}: no such choice{_hint(choice, options)}; there are {_list(options)}"


def unknown_key(key: str) -> str:
    """Say that a key does not exist, and the nearest that do."""
    if key in known_keys():
        return f"{key}: the chosen {key.partition('.')[0]} has no such key; choose another"
    return f"{key}: there is no such key{_hint(key, known_keys())}; see python train.py --help"


def _hint(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known)
    return f", did you mean {' or '.join(near)}?" if near else ""


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Up to three known keys that a misspelt one may stand for.

    The last part of the key counts as well as the whole, and initials count (lr: learning_rate).
    """
    known = list(known)
    leaf = word.rpartition(".")[2]
    by_initials = [k for k in known if _initials(k) == leaf]
    by_leaf = [k for k in known if difflib.SequenceMatcher(None, leaf, _leaf(k)).ratio() >= 0.75]
    by_whole = difflib.get_close_matches(word, known, n=3, cutoff=0.75)
    return list(dict.fromkeys([*by_initials, *by_whole, *by_leaf]))[:3]


def _leaf(key: str) -> str:
    return key.rpartition(".")[2]


def _initials(key: str) -> str:
    return "".join(part[0] for part in _leaf(key).split("_"))


def _list(options: Iterable[str]) -> str:
    return ", ".join(options) or "none"


def _root_cause(error: BaseException) -> BaseException:
    while isinstance(error.__cause__, OmegaConfBaseException):
        error = error.__cause__
    return error


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
