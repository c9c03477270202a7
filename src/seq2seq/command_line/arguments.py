"""The arguments that Hydra would stumble over, refused before it sees them."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from hydra._internal.utils import get_args_parser

from seq2seq.command_line.calling import as_called
from seq2seq.command_line.help import choices_of
from seq2seq.command_line.names import hint, listed
from seq2seq.errors import InputError
from seq2seq.option_rules import key_of

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

ONE_OR_MANY = "--multirun alone says whether there are many runs"


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
            raise InputError(f"{argument}: no such choice; there are {listed(choices)}")
        if key_of(argument) == "hydra.mode":
            raise InputError(f"{argument}: {ONE_OR_MANY}")
        if argument.startswith("-"):
            option, equals, value = argument.partition("=")
            _check_option(option, value if equals else following)
    given = {SHORT_OPTIONS.get(name, name) for name in (a.partition("=")[0] for a in arguments)}
    if len(given & COMMANDS) > 1 or {"--resolve", "--cfg"} & given == {"--resolve"}:
        raise InputError(f"give one of {listed(sorted(COMMANDS))}; --resolve goes with --cfg")
    parser = get_args_parser()
    parser.error = _refuse  # type: ignore[method-assign]
    parser.parse_args(arguments)


def _refuse(message: str) -> NoReturn:
    raise InputError(
        f"{message}: every key=value stands before the options, or behind them, see "
        f"{as_called('seq2seq train')} --help"
    )


def _check_option(option: str, value: str) -> None:
    name = SHORT_OPTIONS.get(option, option)
    if name not in OPTIONS:
        raise InputError(
            f"{option}: there is no such option{hint(option, OPTIONS)}; "
            f"values are set by key=value, see {as_called('seq2seq train')} --help"
        )
    if name == "--config-path" and value.endswith((".yaml", ".yml")):
        raise InputError(
            f"{option} {value}: give a folder, and the name of a file by --config-name"
        )
    if name == "--config-path" and not Path(value).is_absolute():
        raise InputError(f"{option} {value}: give a whole path, or a folder by --config-dir")
    choices = OPTIONS[name]
    # --info alone means all
    if choices and value not in choices and (name != "--info" or value):
        raise InputError(
            f"{option} {value}: no such choice{hint(value, choices)}; there are {listed(choices)}"
        )
