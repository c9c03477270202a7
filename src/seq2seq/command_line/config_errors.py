"""Hydra's and OmegaConf's errors, said in one line with a remedy."""

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
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

from seq2seq.command_line.help import choices_of
from seq2seq.command_line.reference import Setting, corpora_with, is_section, setting_of
from seq2seq.config import Config, known_keys
from seq2seq.errors import InputError
from seq2seq.plain_text import shortened

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
        raise InputError("the defaults of a configuration begin with schema: see conf/config.yaml")
    try:
        config = OmegaConf.to_object(composed)
    except AttributeError as error:
        match = NO_ATTRIBUTE.search(str(error))
        if match is None:
            raise
        raise InputError(unknown_key(match[2])) from error
    return cast("Config", config)


OPTIONS = {
    "--help": (),
    "--version": (),
    "--cfg": ("job", "hydra", "all"),
    "--resolve": (),
    "--package": (),
    "--run": (),
    "--multirun": (),
    "--shell-completion": (),
    "--config-path": (),
    "--config-name": (),
    "--config-dir": (),
    "--info": ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath"),
}
"""Hydra's options, with their choices where it knows them."""

COMMANDS = {"--run", "--multirun", "--cfg", "--info", "--shell-completion"}
"""Options of which there is one."""

SHORT_OPTIONS = {
    "-h": "--help",
    "-c": "--cfg",
    "-p": "--package",
    "-r": "--run",
    "-m": "--multirun",
    "-sc": "--shell-completion",
    "-cp": "--config-path",
    "-cn": "--config-name",
    "-cd": "--config-dir",
    "-i": "--info",
}


NO_CHOICE = re.compile(r"(\w+)=([+-]?[\d.]+|true|false)", re.IGNORECASE)
"""A value that can name no file of a group; Hydra knows only to raise a `ValueError`."""


def check_arguments(arguments: Sequence[str], conf: Path) -> None:
    """Refuse what Hydra would stumble over, or answer with many lines.

    Args:
        arguments: of the command line.
        conf: the folder of the groups.

    Raises:
        InputError: an override has no key before its ``=``, there is no such option or choice, or
            no float can hold a number.
    """
    for argument, following in pairwise([*arguments, ""]):
        if argument.startswith("="):
            raise InputError(f"{argument!r} has no key: write key=value")
        if re.search(r"\d{300}", argument):
            raise InputError(f"{argument[:40]}… holds a number too large for this program")
        match = NO_CHOICE.fullmatch(argument)
        if match and (conf / match[1]).is_dir():
            choices = choices_of(conf, match[1])
            raise InputError(f"{argument}: no such choice; there are {_list(choices)}")
        if argument.startswith("-"):
            option, equals, value = argument.partition("=")
            _check_option(option, value if equals else following)
    given = {SHORT_OPTIONS.get(name, name) for name in (a.partition("=")[0] for a in arguments)}
    if len(given & COMMANDS) > 1 or {"--resolve", "--cfg"} & given == {"--resolve"}:
        raise InputError(f"give one of {_list(sorted(COMMANDS))}; --resolve goes with --cfg")


def _check_option(option: str, value: str) -> None:
    name = SHORT_OPTIONS.get(option, option)
    if name not in OPTIONS:
        raise InputError(
            f"{option}: there is no such option{_hint(option, OPTIONS)}; "
            "values are set by key=value, see python train.py --help"
        )
    if name == "--config-path" and value.endswith((".yaml", ".yml")):
        raise InputError(
            f"{option} {value}: give a folder, and the name of a file by --config-name"
        )
    choices = OPTIONS[name]
    # --info alone means all
    if choices and value not in choices and (name != "--info" or value):
        raise InputError(
            f"{option} {value}: no such choice{_hint(value, choices)}; there are {_list(choices)}"
        )


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
        return f"{error.full_key}: {_first_line(error)}; write the value itself"
    return _first_line(error)


def _composition(error: ConfigCompositionException) -> str:
    text = str(error)
    if match := MERGING_OVERRIDE.search(text):
        return _wrong_value(match[1].strip(), _first_line(_root_cause(error)))
    for pattern, say in SAYINGS.items():
        if match := pattern.search(text):
            return say(match)
    return _first_line(error)


def _in_file(match: re.Match[str]) -> str:
    file, problem = f"conf/{match[1]}.yaml", match[2]
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
        f"{match[1]} is several values: write one, or add --multirun to run each of them"
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
        return f"{override}: {key} is a section; set its keys, {_list(below[:4])}…"
    return f"{override}: {reason}"


def _takes(setting: Setting, value: str) -> str:
    hint = _hint(value, setting.choices)
    kind = "one of " if setting.choices else ""
    return f"{setting.key} takes {kind}{setting.expected}{hint}"


def _no_such_choice(error: MissingConfigException) -> str:
    missing = (error.missing_cfg_file or "").removesuffix(".yaml")
    group, _, choice = missing.rpartition("/")
    options = [option for option in error.options or () if option != "schema"]
    if not group:
        return _first_line(error)
    return f"{group}={choice}: no such choice{_hint(choice, options)}; there are {_list(options)}"


def unknown_key(key: str) -> str:
    """Say that a key does not exist, and the nearest that do."""
    if corpora := corpora_with(key):
        return f"{key}: the chosen data has no such key; data={' and data='.join(corpora)} has it"
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
    text = str(error) or str(error.__cause__ or type(error).__name__)
    return text.strip().partition("\n")[0]
