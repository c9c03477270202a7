"""What is wrong: the message for an exception that a user's mistake has caused."""

import errno
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep
from hydra.errors import (
    HydraException,
    InstantiationException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from hydra_checked.checking import flat
from hydra_checked.errors import Failed, Wrong
from hydra_checked.names import did_you_mean, nearest_key
from hydra_checked.program.application import Application


def message_of(app: Application, error: BaseException, overrides: Sequence[str] | None = None) -> str | None:
    """Return the message for an exception caused by wrong input; None for any other exception.

    Hydra composed `overrides`; None: those of the command line.
    """
    given = [each for each in sys.argv[1:] if each[:1] != "-"] if overrides is None else overrides
    if type(error) is ValueError and isinstance(error.__cause__, Wrong):  # of a log, by Python's logging
        error = error.__cause__
    if isinstance(error, Wrong | Failed):
        return single_line(str(error))
    for kind, say in MESSAGES.items():
        if isinstance(error, kind):
            return say(app, error, given)
    if type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error):
        return single_line(f"there is not enough memory: {app.memory} ({error!s:.200})")
    return None


def behind(error: BaseException) -> list[BaseException]:
    """Return an exception and those that have led to it, which may be in a circle."""
    found = [error]
    for each in found:
        found += [
            link for link in (each.__cause__, each.__context__) if link is not None and link not in found
        ]
    return found


def _list_of_choices(_: Application, error: TypeError, given: Sequence[str]) -> str | None:
    """Name the override that has a list where Hydra composes a choice."""
    frames = traceback.extract_tb(error.__traceback__)
    within = any(frame.filename.endswith("defaults_list.py") for frame in frames[-1:])
    lists = (f"{each}: expected names of choices" for each in given if re.fullmatch(r"[\w/]+=\[.*", each))
    return next(lists, None) if within else None


def _value(app: Application, error: ValueError, given: Sequence[str]) -> str | None:
    if str(error).startswith("Only one of --"):  # options of Hydra that exclude each other
        return str(error)
    return _wrong_override(app, [each for each in given if "=" in each and each[:1] != "+"])


def _instantiation(app: Application, error: InstantiationException, given: Sequence[str]) -> str | None:
    cause = error.__cause__
    if cause is not None:
        if (message := message_of(app, cause, given)) is not None:
            return message
        if frames_of_user(app, cause):
            return None
    said, _, key = str(error).partition("full_key: ")
    return single_line(f"{key or 'configuration'}: {cause or said}")


def _missing_choice(app: Application, error: MissingConfigException, _: Sequence[str]) -> str:
    group, _, choice = str(error.missing_cfg_file).rpartition("/")
    parent, _, rest = str(error.missing_cfg_file).partition("/")
    if parent != "hydra" and app.is_group(parent) and ("/" in rest or "." in rest):
        hint = f": {app.files[parent]}" if parent in app.files else ""
        return f"{parent}={rest}: there is no such choice{hint}"
    if not group:
        said = re.search(r"(?:directory '|provider=main, path=file://)([^'\n]+)", str(error))
        folder = Path(said[1]) if said else app.conf
        if not folder.is_dir():
            return f"--config-path {folder}: there is no such folder"
        found = [f"{each.parent.name}={each.stem}" for each in sorted(folder.glob(f"*/{choice}.yaml"))]
        hint = f"did you mean {found[0]}?" if found else "give the folder of the file by --config-path"
        return f"--config-name {choice}: there is no such file in {folder}; {hint}"
    options = list(error.options or ())
    other = app.other_choices.get((group, choice.lower()))
    hint = f"did you mean {other}? " if other else did_you_mean(choice, options)
    own = f"; your own class: {app.classes[group]}._target_=…" if group in app.classes else ""
    return f"{group}={choice}: there is no such choice; {hint}choose one of {', '.join(options)}{own}"


def _unreadable_override(_: Application, error: OverrideParseException, __: Sequence[str]) -> str:
    key, equals, value = error.override.partition("=")
    if not equals:
        return f"'{error.override}' cannot be read: write key=value, without spaces around '='"
    quoted = f"put values with special characters into quotes, '{key}=\"{value}\"'"
    if error.__cause__ is None:
        return f"'{error.override}' cannot be read: {quoted}"
    several = re.fullmatch(r"choice\((.+)\)", value)  # of a function of Hydra's grammar, which takes no null
    hint = f"with -m, write {key}={several[1]}" if several else quoted
    return f"'{error.override}' cannot be read: {single_line(str(error.__cause__))}; {hint}"


def _composition(app: Application, error: HydraException, given: Sequence[str]) -> str | None:
    cause = error.__cause__
    if isinstance(cause, OmegaConfBaseException):
        if isinstance(cause, AttributeError | KeyError):
            # OmegaConf names only the first part of the key
            refused = re.match("Could not override '([^']+)'", str(error))
            return _unknown_key(app, refused[1] if refused else str(cause.full_key))
        return _omegaconf(app, cause, given)
    said = single_line(str(error).replace("\n\t", ", ").replace(":,", ":"))
    return _wrong_override(app, given) or said


def _wrong_override(app: Application, overrides: Sequence[str]) -> str | None:
    """Return the message for the first override that Hydra refuses because of the keys that there are."""
    with suppress(HydraException):  # one that cannot be read has its own message
        for each in OverridesParser.create().parse_overrides(list(overrides)):
            key, line = each.key_or_group, str(each.input_line)
            is_group = app.is_group(key)
            is_known = is_group or key in app.known_keys
            value = each.value()
            values = value.list if isinstance(value, ChoiceSweep) else [value]
            if re.fullmatch(r"hydra/\w+", key) and not is_known:
                return _unknown_key(app, key)
            if each.is_add() and is_known:
                return f"{line}: this key exists; write {line.lstrip('+')}"
            if is_group and any(isinstance(v, int | float | None) for v in values) and not each.is_delete():
                options = ", ".join(sorted(path.stem for path in (app.conf / key).glob("*.yaml")))
                return f"{line}: choose one of {options}; {key}.NAME=null leaves out a part of it"
    return None


def _unknown_key(app: Application, key: str) -> str:
    if app.is_group(key):
        return app.without_groups(key)
    if key in app.moved:
        return f"{key}: {app.moved[key]}"
    if key in app.answers:
        return f"{key}: no such key; {app.answers[key]}"
    group, name, *_ = *key.split("."), ""
    file = app.conf / group / f"{name}.yaml"
    if file.is_file() and name in (chosen := OmegaConf.load(file)):
        listed = [f"{group}.{each}" for each in flat(OmegaConf.to_container(chosen))]
        if any(f"{each}.".startswith(f"{key}.") for each in listed):
            return f"{key}: nothing has this key until {group}={name} is given, too"
        meant = nearest_key(key, [f"{group}.{name}", *listed])
        return _no_such_key(app, key, meant, f"with {group}={name}, ")
    if choices := app.choices_with(key):
        return f"{key}: no such key with what was chosen; it belongs to {' or '.join(choices[:4])}"
    if key in app.known_keys:
        return f"{key}: no such key with what was chosen; another choice of its group has it"
    return _no_such_key(app, key, app.other_keys.get(key.lower()) or nearest_key(key, app.known_keys))


def _no_such_key(app: Application, key: str, meant: str | None, where: str = "") -> str:
    hint = f"did you mean {meant}? " if meant else ""
    is_read = app.schema is None or key.partition(".")[0] in ("hydra", *app.root)
    more = f"{where}write +{key}=… for an argument that no file lists" if is_read else "--help lists the keys"
    return f"{key}: no such key; {hint}{more}"


def _omegaconf(_: Application, error: OmegaConfBaseException, __: Sequence[str]) -> str | None:
    said = single_line(str(error.msg or error).splitlines()[0])
    own = said.partition(f"{Wrong.__name__} raised while resolving interpolation: ")[2]  # by a resolver
    if own:
        return own
    return f"{error.full_key}: {said}" if error.full_key else said


def _operating_system(_: Application, error: OSError, given: Sequence[str]) -> str | None:
    name = f"{error.filename}: " if error.filename else ""
    if error.errno == errno.EFBIG:
        return f"{name}{error.strerror}: raise the limit of a file's size, see ulimit -f"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return f"{name}{error.strerror}: free some space, or write elsewhere"
    if isinstance(error, NotADirectoryError | FileExistsError) and isinstance(error.filename, str):
        for each in given:  # the key whose file stands where a folder is to be made
            path = Path(each.partition("=")[2].strip("'\""))
            if path.is_file() and Path(error.filename).absolute().is_relative_to(path.absolute()):
                return f"{each}: this is a file, and a folder is needed"
    if isinstance(
        error, FileNotFoundError | FileExistsError | NotADirectoryError | IsADirectoryError | PermissionError
    ):
        return f"{name}{error.strerror}" if name else None
    return None


def hint_for_option(app: Application, arguments: Sequence[str]) -> str:
    """Return the keys that options such as ``--epochs 3`` were meant for, and how keys are set."""
    meant = []
    for option, following in zip(arguments, [*arguments[1:], "-"], strict=True):
        name, _, value = option.lstrip("-").replace("-", "_").partition("=")
        if option.startswith("--") and name not in ("", "config_dir", "config_name", "config_path"):
            if name in app.answers:
                return app.answers[name]
            keys = [key for key in app.known_keys if key.rpartition(".")[2] == name]
            keys.sort(key=lambda key: (key.startswith("hydra."), key.count(".")))
            if found := app.other_keys.get(name, keys[0] if keys else None):
                value = value or ("…" if following.startswith("-") else following)
                meant.append(found if "=" in found else f"{found}={value}")
    hint = f"did you mean {' '.join(meant)}? " if meant else ""
    first_key = next((place for place, each in enumerate(arguments) if each[:1] != "-"), len(arguments))
    if not meant and any(each[:1] == "-" for each in arguments[first_key:]):
        return "options, such as --config-dir FOLDER, stand before the keys; --help lists them"
    return f"{hint}values are set by key=value, without dashes; --help lists the options"


MESSAGES: dict[type[BaseException], Callable[[Application, Any, Sequence[str]], str | None]] = {
    InstantiationException: _instantiation,
    MissingConfigException: _missing_choice,
    OverrideParseException: _unreadable_override,
    HydraException: _composition,
    OmegaConfBaseException: _omegaconf,
    OSError: _operating_system,
    ValueError: _value,
    TypeError: _list_of_choices,
}
"""Kind of exceptions -> what is said of them; the first that fits."""


# --- code of the user's ---


def frames_of_user(app: Application, error: BaseException) -> list[tuple[FrameType, int]]:
    """Return the frames of an exception, with their lines, that lie outside of the program and of installed packages."""
    own = [f"{folder}{os.sep}" for folder in (*app.code, Path(__file__).parents[1])]
    ours = (*own, "<", os.path.dirname(os.__file__))
    main = str(Path(getattr(sys.modules["__main__"], "__file__", "") or "").absolute())
    return [
        (frame, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not (path := frame.f_code.co_filename).startswith(ours)
        and "site-packages" not in path
        and str(Path(path).absolute()) != main
    ]


def show_frames_of_user(app: Application, error: BaseException) -> bool:
    """Print an exception with the user's frames and the part that failed; False if there are none."""
    for failed in behind(error):
        if frames := frames_of_user(app, failed):
            print("Traceback of your code (HYDRA_FULL_ERROR=1 shows all of it):", file=sys.stderr)
            print("".join(traceback.StackSummary.extract(iter(frames)).format()), end="", file=sys.stderr)
            part, message = frames[-1][0].f_code.co_qualname, single_line(str(failed))[:500]
            print(f"error: {part} failed: {type(failed).__name__}: {message}", file=sys.stderr)
            return True
    return False


def single_line(text: str) -> str:
    """Join the lines of a message, without control characters, which could steer the terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", " ".join(text.split()))
