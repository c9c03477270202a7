"""Hydra's and OmegaConf's errors, said in one line with a remedy."""

import re
from collections.abc import Callable
from typing import cast

from hydra.errors import (
    ConfigCompositionException,
    HydraException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import (
    InterpolationResolutionError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)

from seq2seq.command_line.calling import as_called
from seq2seq.command_line.names import hint, listed
from seq2seq.command_line.reference import Setting, corpora_with, is_section, setting_of
from seq2seq.config import Config, known_keys
from seq2seq.errors import InputError
from seq2seq.own_files import CONF, own_file
from seq2seq.plain_text import first_line, shortened

CONFIG_ERRORS = (HydraException, OmegaConfBaseException)
"""What Hydra and OmegaConf raise for a wrong configuration."""

MERGING_OVERRIDE = re.compile(r"Error merging override (.*)")
KEY_NOT_IN = re.compile(r"Key '([^']*)' not in '(\w+)'")
NO_ATTRIBUTE = re.compile(r"'(\w+)' object has no attribute '([^']*)'")


def as_config(composed: DictConfig) -> Config:
    """The typed configuration, ranges checked.

    Raises:
        InputError: a key that ``+key=value`` added is not in the schema, a value is out of range,
            or the schema is not what the configuration began with.
    """
    if OmegaConf.get_type(composed) is not Config:  # nothing bounds what else it may hold
        example = own_file("conf/config.yaml")
        raise InputError(f"the defaults of a configuration begin with schema: see {example}")
    try:
        config = OmegaConf.to_object(composed)
    except AttributeError as error:
        match = NO_ATTRIBUTE.search(str(error))
        if match is None:
            raise
        raise InputError(unknown_key(match[2])) from error
    return cast("Config", config)


def explain(error: Exception) -> str:
    """One line that says what is wrong with the configuration, where, and the remedy."""
    return shortened(_explained(error))


def _explained(error: Exception) -> str:
    if isinstance(error, MissingMandatoryValue):
        return f"{error.full_key} is needed: add {error.full_key}=…"
    if isinstance(error, MissingConfigException):
        return _no_such_choice(error)
    if isinstance(error, OverrideParseException):
        return f"{error.override!r} cannot be read: write key=value, and quote special signs"
    if isinstance(error, ConfigCompositionException):
        return _composition(error)
    if isinstance(error, InterpolationResolutionError):
        return f"{error.full_key}: {first_line(error)}; write the value itself"
    return first_line(error)


def _composition(error: ConfigCompositionException) -> str:
    text = str(error)
    if match := MERGING_OVERRIDE.search(text):
        return _wrong_value(match[1].strip(), first_line(_root_cause(error)))
    for pattern, say in SAYINGS.items():
        if match := pattern.search(text):
            return say(match)
    return first_line(error)


def _in_file(match: re.Match[str]) -> str:
    name, problem = f"{match[1]}.yaml", match[2]
    file = own_file(f"conf/{name}") if (CONF / name).is_file() else name  # or one of --config-dir
    if key := KEY_NOT_IN.search(problem):
        return f"{file}: {unknown_key(key[1])}"
    return f"{file}: {problem}"


def _chosen_twice(match: re.Match[str]) -> str:
    group = match[1] or match[2]
    return f"{group} is chosen more than once: write {group}=… once, without +"


SAYINGS: dict[re.Pattern[str], Callable[[re.Match[str]], str]] = {
    re.compile(r"Could not override '([^']*)'"): lambda match: unknown_key(match[1]),
    re.compile(r"Could not delete from config. '([^']*)'"): lambda match: unknown_key(match[1]),
    re.compile(r"Ambiguous value for argument '([^']*)'"): lambda match: (
        f"{match[1]} is several values: write one, or add --multirun (from Python: seq2seq.sweep)"
    ),
    re.compile(
        r"(?:^|/)(\w+)@\w+ appears more than once|Multiple values for (?:\S+/)?(\w+)"
    ): _chosen_twice,
    re.compile(r"In '([^']*)': \w+ raised while composing config:\s*(.*)"): _in_file,
}
"""What Hydra says when it cannot compose, and how to say it."""


def _wrong_value(override: str, reason: str) -> str:
    """Say what a key takes, given an override that it does not."""
    key, _, value = override.lstrip("+~").partition("=")
    setting = setting_of(key)
    if override.startswith("~"):
        return f"{override}: a key cannot be removed; set it to null where it may be null"
    if setting is not None:
        return f"{override} is wrong: {_takes(setting, value)}"
    if is_section(key):
        below = [known for known in known_keys() if known.startswith(f"{key}.")]
        return f"{override}: {key} is a section; set its keys, {listed(below[:4])}…"
    return f"{override}: {reason}"


def _takes(setting: Setting, value: str) -> str:
    kind = "one of " if setting.choices and not setting.expected.startswith("a list") else ""
    return f"{setting.key} takes {kind}{setting.expected}{hint(value, setting.choices)}"


def _no_such_choice(error: MissingConfigException) -> str:
    missing = (error.missing_cfg_file or "").removesuffix(".yaml")
    group, _, choice = missing.rpartition("/")
    options = [option for option in error.options or () if option != "schema"]
    if not group:
        return first_line(error)
    return f"{group}={choice}: no such choice{hint(choice, options)}; there are {listed(options)}"


def unknown_key(key: str) -> str:
    """Say that a key does not exist, and the nearest that do."""
    if corpora := corpora_with(key):
        return f"{key}: the chosen data has no such key; data={' and data='.join(corpora)} has it"
    told = f"{key}: there is no such key{hint(key, known_keys())}"
    return as_called(f"{told}; see seq2seq train --help")


def _root_cause(error: BaseException) -> BaseException:
    while isinstance(error.__cause__, OmegaConfBaseException):
        error = error.__cause__
    return error
