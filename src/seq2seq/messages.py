"""One line and an exit status for what goes wrong, in place of a traceback.

A mistake in the configuration or in a file ends a program with status 2 and one line that names the key
or the file and what to do. An exception inside a class of the user's own shows the user's frames only.
Any other exception is a defect and keeps its traceback. ``HYDRA_FULL_ERROR=1`` shows every traceback.
"""

import difflib
import errno
import inspect
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import (
    ConfigCompositionException,
    HydraException,
    InstantiationException,
    MissingConfigException,
)
from hydra.types import RunMode
from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from seq2seq.arguments import arguments_of
from seq2seq.errors import InputError, TrainingFailed, TrainingInterrupted
from seq2seq.old_names import old_keys

CONF = next(
    folder
    for folder in (Path(__file__).parents[0] / "conf", Path(__file__).parents[2] / "conf")
    if folder.is_dir()
)
"""The configuration: inside the package where it is installed from a wheel, else that of the clone."""

OBJECTS = "data", "model", "module", "optimizer", "scheduler", "trainer", "callbacks", "logger"
"""Nodes that hold objects, by `_target_`; only these have the callbacks and loggers of the trainer."""


@contextmanager
def exit_with_one_line() -> Iterator[None]:
    """Print one line and exit: status 2 for wrong input, 1 for failed trainings, 128 + n after signal n."""
    full = os.environ.get("HYDRA_FULL_ERROR") == "1" and "SEQ2SEQ_ONE_LINE" not in os.environ
    if not full:  # Hydra then hands exceptions on in place of printing them itself
        os.environ |= {"HYDRA_FULL_ERROR": "1", "SEQ2SEQ_ONE_LINE": "1"}
    try:
        yield
    except SystemExit as end:
        if end.code == 2 and (hint := hint_for_option(sys.argv[1:])):
            print(f"error: unrecognized arguments: {hint}", file=sys.stderr)
        raise
    except KeyboardInterrupt:
        sys.exit(130)
    except TrainingInterrupted as stop:
        print(stop, file=sys.stderr)
        sys.exit(128 + stop.signal_number)
    except BrokenPipeError:  # the reader of standard output has ended, such as `head`
        sys.stdout = open(os.devnull, "w")
        sys.exit(141)  # as after SIGPIPE: a training has no scores
    except Exception as error:
        if full:
            raise
        message = message_of(error)
        if message is not None:
            print(f"error: {message}", file=sys.stderr)
            sys.exit(1 if isinstance(error, TrainingFailed) else 2)
        if not show_frames_of_user(error):
            raise
        sys.exit(1)


def in_one_line(function: Callable[[DictConfig], Any], config: DictConfig) -> Any:
    """Call a Hydra application; in single runs, report wrong input before Hydra does."""
    if HydraConfig.get().mode != RunMode.RUN:
        return function(config)
    with exit_with_one_line():
        return function(config)


def message_of(error: BaseException) -> str | None:
    """Return the message for an exception caused by wrong input; None for any other exception."""
    if isinstance(error, InputError | TrainingFailed):
        return one_line(str(error))
    if isinstance(error, InstantiationException):
        cause = error.__cause__
        if cause is not None and message_of(cause) is not None:
            return message_of(cause)
        if cause is not None and user_frames(cause):
            return None
        key = re.search(r"full_key: (\S+)", str(error))
        said = re.sub(r"full_key: \S+", "", str(error)) if cause is None else str(cause)
        return one_line(f"{key[1]}: {said}" if key else said)
    if isinstance(error, ConfigCompositionException | MissingConfigException | OmegaConfBaseException):
        if unknown := re.search(r"Could not override '([^'@]+)", str(error)):
            key = unknown[1]
            if (CONF / key).is_dir():
                return (f"{key}: a file cannot override this group, which comes later in the defaults list of "
                        f"config.yaml; give {key}=… on the command line")  # fmt: skip
            if key in old_keys():
                return f"{key}: this key is now {old_keys()[key]}"
            parent, _, name = key.rpartition(".")
            target = OmegaConf.select(default_config(), f"{parent}._target_")
            with suppress(Exception):  # what cannot be imported has no arguments to name
                if (
                    target
                    and name not in OBJECTS
                    and name in inspect.signature(get_object(target)).parameters
                ):
                    return (
                        f"{key}: an argument of {target} that the configuration does not list: write +{key}=…"
                    )
            nearest = nearest_name(key, known_keys())
            hint = f"did you mean {nearest}? " if nearest else ""
            return f"{key}: no such key; {hint}To add a new key, write +{key}=…"
        if choice := re.search(
            r"Could not find '([^']+)/([^'/]+)'\s+Available options in '[^']+':((?:\n\t.*)+)", str(error)
        ):
            options = choice[3].split()
            nearest = difflib.get_close_matches(choice[2], options, n=1)
            hint = f"did you mean {nearest[0]}? " if nearest else ""
            of_own = {"attention": "model.decoder.attention.score", "tokenizer": "data.tokenizer", "data": "data",
                      "encoder": "model.encoder", "decoder": "model.decoder"}  # fmt: skip
            own = f"; your own class: {of_own[choice[1]]}._target_=…" if choice[1] in of_own else ""
            return f"{choice[1]}={choice[2]}: there is no such choice; {hint}choose one of {', '.join(options)}{own}"
        if missing := re.search(r"Missing mandatory value: (\S+)", str(error)):
            return f"{missing[1]} is needed: give {missing[1]}=…"
        if several := re.search(r"Ambiguous value for argument '([^']+)'", str(error)):
            return f"{several[1]}: several values; add -m (--multirun) to run each of them, or write a list as [a,b]"
        if config := re.search(r"Cannot find primary config '([^']+)'", str(error)):
            found = [f"{each.parent.name}={each.stem}" for each in sorted(CONF.glob(f"*/{config[1]}.yaml"))]
            hint = f"did you mean {found[0]}?" if found else "give the folder of the file by --config-path"
            return f"--config-name {config[1]}: there is no such file in {CONF}; {hint}"
        return one_line(str(error).replace("full_key:", "key:"))
    if "Config group override must be a string" in str(error):
        for group, *_ in (each.split("=") for each in sys.argv if each.endswith("=null")):
            options = ", ".join(sorted(path.stem for path in (CONF / group).glob("*.yaml")))
            return f"{group}=null: choose one of {options}; {group}.NAME=null leaves out a part of it"
    if isinstance(error, HydraException):
        if wrong := re.search(r"Error parsing override '([^']*)'", str(error)):
            return (
                f"'{wrong[1]}' cannot be read: write key=value, without spaces around '='; put values with spaces "
                "or special characters into quotes, such as 'key=\"a b\"'"
            )
        return one_line(str(error).replace("\n\t", ", ").replace(":,", ":"))
    if type(error).__name__ == "MisconfigurationException":  # Lightning's, imported only when needed
        if metric := re.search(r"monitor='([^']+)'.*metrics: (\[.*?\])", str(error)):
            known = re.findall(r"val/[\w-]+", metric[2])
            return f"monitor={metric[1]}: there is no such metric; choose one of {', '.join(known)}"
        if device := re.search(r"No supported (\w+) backend", str(error)):
            return (
                f"device={device[1]}: PyTorch finds no such device on this machine (torch.cuda.is_available() is "
                "False); choose device=cpu or device=auto"
            )
        return one_line(str(error))
    stopping = re.search(
        r"Early stopping conditioned on metric `([^`]+)`.*following: (.*)", str(error), re.DOTALL
    )
    if stopping:
        known = re.findall(r"val/[\w-]+", stopping[2])
        return f"monitor={stopping[1]}: there is no such metric; choose one of {', '.join(known)}"
    if type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error):
        size = re.search(r"allocate (\d+) bytes|allocate ([\d.]+ \wiB)", str(error))
        wanted = "" if size is None else f" for {size[2] or f'{int(size[1]) / 1e9:,.1f} GB'}"
        return f"there is not enough memory{wanted}: lower data.batch_size, data.max_tokens or the sizes of the model"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG):
        return f"{f'{error.filename}: ' if error.filename else ''}{error.strerror}: free some space, or write elsewhere"
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError | PermissionError):
        return f"{error.filename}: {error.strerror}" if error.filename else None
    return None


def hint_for_option(arguments: list[str]) -> str | None:
    """Return the key that an unknown option such as ``--max_epochs 3`` was meant for; None if there is none."""
    for option in arguments:
        name = option.lstrip("-").partition("=")[0].replace("-", "_")
        if option.startswith("--") and name not in ("", "config_dir", "config_name", "config_path"):
            meant = [key for key in known_keys() if key.rpartition(".")[2] == name]
            if meant:
                return f"{option}; did you mean {meant[0]}=…? Values are set by key=value, without dashes"
    return None


def one_line(text: str) -> str:
    """Join the lines of a message, without control characters, which could steer the terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", " ".join(text.split()))


def nearest_name(name: str, known: list[str]) -> str | None:
    """Return the key whose last part is most like that of another, or the keys beside it."""
    prefix, _, last = name.rpartition(".")
    beside = {key.rpartition(".")[2]: key for key in known if re.fullmatch(rf"{prefix}\.?[^._][^.]*", key)}
    anywhere = {key.rpartition(".")[2]: key for key in sorted(known, key=lambda key: -key.count("."))}
    for keys, cutoff in ((anywhere, 1.0), (beside, 0.6), (anywhere, 0.75)):
        if found := difflib.get_close_matches(last, keys, n=1, cutoff=cutoff):
            return keys[found[0]]
    return f"one of {', '.join([*beside.values()][:12])}" if beside and prefix else None


@cache
def default_config() -> DictConfig:
    """Return the configuration without overrides."""
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config")


def known_keys() -> list[str]:
    """Return every group and every dotted key of the default configuration."""
    keys, stack = [], [("", default_config())]
    while stack:
        prefix, node = stack.pop()
        for key in node:
            keys.append(f"{prefix}{key}")
            if not OmegaConf.is_interpolation(node, key) and not OmegaConf.is_missing(node, key):
                if isinstance(node[key], DictConfig):
                    stack.append((f"{prefix}{key}.", node[key]))
    return sorted([path.name for path in CONF.iterdir() if path.is_dir()] + keys)


def check_arguments(node: Any, key: str = "") -> None:
    """Check every node with a `_target_` against the signature of its class or function.

    Args:
        node: Part of the configuration; all nodes below it are checked too.
        key: Its dotted key.

    Raises:
        InputError: The target does not exist, takes no such argument, or its annotation forbids the
            value. The message names the key and the nearest argument.
    """
    if isinstance(node, ListConfig):
        for place, part in enumerate(node):
            check_arguments(part, f"{key}[{place}]")
        return
    if not isinstance(node, DictConfig):
        return
    if "_target_" in node:
        logging.getLogger("hydra.utils").disabled = True  # it prints what the message says
        try:
            target = get_object(node._target_)
        except Exception as error:
            if user_frames(error):
                raise
            module, _, name = str(node._target_).rpartition(".")
            nearest = difflib.get_close_matches(name, dir(sys.modules.get(module)), n=1)
            reason = (
                f"{module} has no {name}"
                if module in sys.modules
                else one_line(str(error.__cause__ or error))
            )
            reason += f"; did you mean {module}.{nearest[0]}?" if nearest else ""
            raise InputError(f"{key}._target_={node._target_}: {reason}") from error
        arguments, takes_any = arguments_of(target)
        for name in list(node):
            if str(name).startswith("_"):
                continue
            if name not in arguments and not takes_any and node[name] is None:
                with open_dict(node):  # null is no value, and Hydra cannot remove it by ~
                    del node[name]
                continue
            if name not in arguments and not takes_any:
                nearest = difflib.get_close_matches(str(name), [*arguments], n=1, cutoff=0.5)
                hint = f"did you mean {key}.{nearest[0]}" if nearest else f"it takes {', '.join(arguments)}"
                raise InputError(
                    f"{key}.{name}: {node._target_} has no argument {name}; {hint}; "
                    f"~{key}.{name} removes the key"
                )
            value = node[name]
            hint = arguments.get(str(name))
            if isinstance(value, ListConfig):
                parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
                fits = not {*parts} - {type(None)} <= {*KINDS}
                kind = "a list"
            else:
                fits = isinstance(value, DictConfig) or matches(value, hint)
                kind = KINDS.get(type(value), type(value).__name__)
            if not fits:
                raise InputError(f"{key}.{name}={value}: expected {in_words(hint)}, got {kind}")
    for name in node:
        check_arguments(node[name], f"{key}.{name}" if key else str(name))


KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def in_words(hint: Any) -> str:
    """Return an annotation in words."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    choices = [str(each) for part in parts if get_origin(part) is Literal for each in get_args(part)]
    words = [KINDS[part] for part in parts if part in KINDS]
    words += [f"one of {', '.join(dict.fromkeys(choices))}"] if choices else []
    return " or ".join(words) or str(hint)


def matches(value: Any, hint: Any) -> bool:
    """Return whether a plain value fits an annotation of plain types; True for any other annotation."""
    if value is None or hint in (None, Any):  # null often means that something else decides
        return True
    if get_origin(hint) in (Union, UnionType):
        return any(matches(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (bool, str):
        return isinstance(value, hint)
    if getattr(hint, "__name__", "") == "Tensor":  # optimizers take numbers or tensors
        return not isinstance(value, str)
    return True


def user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of an exception that lie outside of this program and of installed packages."""
    ours = str(Path(__file__).parents[1]) + os.sep
    main = str(Path(getattr(sys.modules["__main__"], "__file__", "") or "").absolute())
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((ours, "<", os.path.dirname(os.__file__)))
        and "site-packages" not in frame.filename
        and str(Path(frame.filename).absolute()) != main
    ]


def show_frames_of_user(error: BaseException) -> bool:
    """Print an exception with the user's frames and the part that failed; False if there are none."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    failed = next((each for each in chain if user_frames(each)), None)
    if failed is None:
        return False
    frames = user_frames(failed)
    print("Traceback of your code (HYDRA_FULL_ERROR=1 shows all of it):", file=sys.stderr)
    print("".join(traceback.format_list(frames)), end="", file=sys.stderr)
    part, trace = frames[-1].name, failed.__traceback__
    while trace is not None:
        owner = trace.tb_frame.f_locals.get("self")
        if trace.tb_frame.f_code.co_filename == frames[-1].filename and owner is not None:
            part = f"{type(owner).__name__}.{trace.tb_frame.f_code.co_name}"
        trace = trace.tb_next
    message = one_line(str(failed))[:500]
    print(f"error: {part} failed: {type(failed).__name__}: {message}", file=sys.stderr)
    return True
