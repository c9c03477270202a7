"""One line and an exit status for what goes wrong, in place of a traceback.

A mistake in the configuration or in a file ends a program with status 2 and one line that names the key
or the file and what to do. An exception inside a class of the user's own shows the user's frames only.
Any other exception is a defect and keeps its traceback. ``HYDRA_FULL_ERROR=1`` shows every traceback.
"""

import errno
import io
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep
from hydra.errors import (
    HydraException,
    InstantiationException,
    MissingConfigException,
    OverrideParseException,
)
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from hydra_checked import nearest
from seq2seq.common.errors import InputError, TrainingFailed, TrainingInterrupted
from seq2seq.common.named import flat
from seq2seq.settings.config import CONF, OBJECTS, PLACES, choices_with, deletable, known_keys, without_groups
from seq2seq.settings.root import MOVED, Root

OTHER_CHOICES = {
    ("attention", "bahdanau"): "additive", ("attention", "concat"): "additive", ("attention", "mlp"): "additive",
    ("attention", "luong"): "bilinear", ("attention", "general"): "bilinear", ("attention", "scaled"): "scaled_dot",
    ("attention", "none"): "decoder=context", ("encoder", "bigru"): "gru", ("encoder", "bilstm"): "lstm",
    ("encoder", "brnn"): "lstm", ("encoder", "rnn"): "gru", ("device", "cuda"): "gpu", ("device", "metal"): "mps",
    ("model", "transformer"): "encoder=transformer", ("experiment", "multi30k"): "multi30k_en_de", ("tokenizer", "spm"): "unigram", ("tokenizer", "sentencepiece"): "bpe",
}  # fmt: skip
"""(group, name in other toolkits and papers) -> choice here."""

OTHER_KEYS = {
    "data.source": "data.train.source", "data.target": "data.train.target", "train.source": "data.train.source",
    "epochs": "trainer.max_epochs", "num_epochs": "trainer.max_epochs", "max_epoch": "trainer.max_epochs",
    "train_steps": "trainer.max_steps", "max_update": "trainer.max_steps", "max_updates": "trainer.max_steps",
    "learning_rate": "optimizer.lr", "bs": "data.batch_size", "clip_norm": "trainer.gradient_clip_val",
    "max_grad_norm": "trainer.gradient_clip_val", "update_freq": "trainer.accumulate_grad_batches",
    "beam": "decoding.beam_size", "lenpen": "decoding.penalty.alpha", "rnn_size": "model.encoder.hidden_size",
    "hidden_dim": "model.encoder.hidden_size", "emb_dim": "model.embedding_size", "word_vec_size": "model.embedding_size",
    "patience": "callbacks.early_stopping.patience", "save_dir": "paths.runs_dir", "restore_file": "ckpt_path",
    "train_from": "ckpt_path", "share_vocab": "data.joint_vocabulary", "joined_dictionary": "data.joint_vocabulary",
    "gpus": "trainer.devices", "num_gpus": "trainer.devices", "fp16": "trainer.precision", "wandb": "logger=wandb",
}  # fmt: skip
"""Key or option of other toolkits -> key here."""

SAME_COMMAND = {"resume", "continue", "resume_from_checkpoint", "auto_resume"}
CONTINUES = "the same command again continues a training that was stopped; ckpt_path=FILE begins with a checkpoint of another run"
"""Options of other toolkits, and what is done here."""


# --- programs ---


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Print one line and exit: status 2 for wrong input, 1 for failed trainings, 128 + n after signal n.

    Modules in the working folder can be imported in the context.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of standard output has ended, such as `head`
        sys.stdout = open(os.devnull, "w")
        sys.exit(141)  # as after SIGPIPE: a training has no scores
    except Exception as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise
        exit_with(error)


class Reported(SystemExit):
    """The end of a program that has printed why."""


def exit_with(error: BaseException) -> NoReturn:
    """Print what is wrong, and exit."""
    if isinstance(error, TrainingInterrupted):
        print(error, file=sys.stderr)
        raise Reported(128 + error.signal_number)
    if is_interrupted(error):
        raise Reported(130)
    message = message_of(error)
    if message is not None:
        print(f"error: {message}", file=sys.stderr)
        raise Reported(1 if isinstance(error, TrainingFailed) else 2)
    if not show_frames_of_user(error):
        traceback.print_exception(error)
    raise Reported(1)


def is_interrupted(error: BaseException) -> bool:
    """Return whether Ctrl-C is behind an exception, such as one that cleaning up after it has raised."""
    behind = [error]
    for each in behind:  # they may be in a circle
        behind += [
            link for link in (each.__cause__, each.__context__) if link is not None and link not in behind
        ]
    return any(isinstance(each, KeyboardInterrupt) for each in behind)


def start(main: Callable[[], Any]) -> None:
    """Run the function that ``hydra.main`` returns; every exception ends in one line.

    Hydra prints an exception and exits; what it prints is held back, and the exception is the context of `SystemExit`.
    """
    # oneDNN keeps a compiled program for each shape of a product, and the steps of training have many different
    # numbers of rows. A limit of 64 programs (default: 1,024) saves 15 % of the memory of training recipe=multi30k,
    # at the same speed. A small model in bfloat16 computes about 10 % more slowly; set the variable to 1024 for it.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    logging.captureWarnings(True)
    held = io.StringIO()
    with exit_on_error():
        sys.argv[1:] = deletable(sys.argv[1:])
        # -m may stand anywhere
        sys.argv[1:] = sorted(sys.argv[1:], key=lambda each: each not in ("-m", "--multirun"))
        try:
            with redirect_stderr(held):
                main()
        except SystemExit as end:
            error, full = end.__context__, os.environ.get("HYDRA_FULL_ERROR") == "1"
            if end.code == 1 and isinstance(error, Exception) and not (full or isinstance(end, Reported)):
                exit_with(error)
            said = held.getvalue()
            if end.code == 2 and "error: " in said:  # of argparse, after the usage
                said = f"error: {said.rpartition('error: ')[2].strip()}; {hint_for_option(sys.argv[1:])}\n"
            print(said, end="", file=sys.stderr)
            raise
        print(held.getvalue(), end="", file=sys.stderr)


def run_task(task: Callable[[DictConfig], Any], config: DictConfig) -> Any:
    """Call the task of a Hydra application; exceptions of a single run are reported here, before Hydra does."""
    with redirect_stderr(sys.__stderr__):  # not where `start` holds back what Hydra prints
        if HydraConfig.get().mode != RunMode.RUN:
            return task(config)
        with exit_on_error():
            return task(config)


# --- what is wrong ---


def message_of(error: BaseException, overrides: Sequence[str] | None = None) -> str | None:
    """Return the message for an exception caused by wrong input; None for any other exception.

    Hydra composed `overrides`; None: those of the command line.
    """
    given = [each for each in sys.argv[1:] if each[:1] != "-"] if overrides is None else overrides
    if type(error) is ValueError and isinstance(error.__cause__, InputError):  # of a log, by Python's logging
        error = error.__cause__
    if isinstance(error, InputError | TrainingFailed | TrainingInterrupted):
        return single_line(str(error))
    messages: tuple[tuple[type[BaseException], Callable[[Any], str | None]], ...] = (
        (InstantiationException, _instantiation),
        (MissingConfigException, _missing_choice),
        (OverrideParseException, _unreadable_override),
        (HydraException, lambda error: _composition(error, given)),
        (OmegaConfBaseException, _omegaconf),
        (OSError, _operating_system),
        (
            ValueError,
            lambda error: (
                str(error)
                if str(error).startswith("Only one of --")  # options of Hydra that exclude each other
                else _wrong_override([each for each in given if "=" in each and each[:1] != "+"])
            ),
        ),
    )
    for kind, say in messages:
        if isinstance(error, kind):
            return say(error)
    if isinstance(error, TypeError) and (lists := _list_of_choices(error, given)):
        return f"{lists}: expected names of choices"
    if type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error):
        advice = "lower data.batch_size, data.max_tokens or the sizes of the model"
        return single_line(f"there is not enough memory: {advice} ({error!s:.200})")
    return None


def _list_of_choices(error: TypeError, given: Sequence[str]) -> str | None:
    """Return the override that has a list where Hydra composes a choice."""
    frames = traceback.extract_tb(error.__traceback__)
    within = any(frame.filename.endswith("defaults_list.py") for frame in frames[-1:])
    return next((each for each in given if within and re.fullmatch(r"[\w/]+=\[.*", each)), None)


def _instantiation(error: InstantiationException) -> str | None:
    cause = error.__cause__
    if cause is not None:
        if (message := message_of(cause)) is not None:
            return message
        if frames_of_user(cause):
            return None
    said, _, key = str(error).partition("full_key: ")
    return single_line(f"{key or 'configuration'}: {cause or said}")


def _missing_choice(error: MissingConfigException) -> str:
    group, _, choice = str(error.missing_cfg_file).rpartition("/")
    parent, _, rest = str(error.missing_cfg_file).partition("/")
    if parent != "hydra" and (CONF / parent).is_dir() and ("/" in rest or "." in rest):
        hint = ": your text is given by data=parallel data.train.source=FILE …, or data=tsv data.file=FILE"
        return f"{parent}={rest}: there is no such choice{hint if parent == 'data' else ''}"
    if not group:
        said = re.search(r"(?:directory '|provider=main, path=file://)([^'\n]+)", str(error))
        folder = Path(said[1]) if said else CONF
        if not folder.is_dir():
            return f"--config-path {folder}: there is no such folder"
        found = [f"{each.parent.name}={each.stem}" for each in sorted(folder.glob(f"*/{choice}.yaml"))]
        hint = f"did you mean {found[0]}?" if found else "give the folder of the file by --config-path"
        return f"--config-name {choice}: there is no such file in {folder}; {hint}"
    options = list(error.options or ())
    meant = OTHER_CHOICES.get((group, choice.lower())) or nearest(choice, options)
    hint = f"did you mean {meant}? " if meant else ""
    place = "model.decoder.attention.score" if group == "attention" else PLACES.get(group)
    own = f"; your own class: {place}._target_=…" if str(place).startswith(OBJECTS) else ""
    return f"{group}={choice}: there is no such choice; {hint}choose one of {', '.join(options)}{own}"


def _unreadable_override(error: OverrideParseException) -> str:
    key, equals, value = error.override.partition("=")
    if not equals:
        return f"'{error.override}' cannot be read: write key=value, without spaces around '='"
    quoted = f"'{key}=\"{value}\"'"
    return f"'{error.override}' cannot be read: put values with special characters into quotes, {quoted}"


def _composition(error: HydraException, overrides: Sequence[str]) -> str | None:
    cause = error.__cause__
    if isinstance(cause, OmegaConfBaseException):
        parts = [each.lstrip("+~").partition("=")[0] for each in overrides]
        key = next((each for each in parts if f"{each}.".startswith(f"{cause.full_key}.")), cause.full_key)
        return _unknown_key(str(key)) if isinstance(cause, AttributeError | KeyError) else _omegaconf(cause)
    said = single_line(str(error).replace("\n\t", ", ").replace(":,", ":"))
    return _wrong_override(overrides) or said


def _wrong_override(overrides: Sequence[str]) -> str | None:
    """Return the message for the first override that Hydra refuses because of the keys that there are."""
    with suppress(HydraException):  # one that cannot be read has its own message
        for each in OverridesParser.create().parse_overrides(list(overrides)):
            key, line = each.key_or_group, str(each.input_line)
            is_group = (CONF / key).is_dir()
            is_known = is_group or key in known_keys()
            value = each.value()
            values = value.list if isinstance(value, ChoiceSweep) else [value]
            if re.fullmatch(r"hydra/\w+", key) and not is_known:
                return _unknown_key(key)
            if each.is_add() and is_known:
                return f"{line}: this key exists; write {line.lstrip('+')}"
            if is_group and any(isinstance(v, int | float | None) for v in values) and not each.is_delete():
                options = ", ".join(sorted(path.stem for path in (CONF / key).glob("*.yaml")))
                return f"{line}: choose one of {options}; {key}.NAME=null leaves out a part of it"
    return None


def _unknown_key(key: str) -> str:
    if (CONF / key).is_dir():
        return without_groups(key)
    if key in MOVED:
        return f"{key}: since 0.5 it is {MOVED[key]}"
    if key in SAME_COMMAND:
        return f"{key}: no such key; {CONTINUES}"
    group, name, *_ = *key.split("."), ""
    file = CONF / group / f"{name}.yaml"
    if file.is_file() and name in (chosen := OmegaConf.load(file)):
        listed = [f"{group}.{each}" for each in flat(OmegaConf.to_container(chosen))]
        if any(f"{each}.".startswith(f"{key}.") for each in listed):
            return f"{key}: nothing has this key until {group}={name} is given, too"
        meant = nearest_key(key, [f"{group}.{name}", *listed])
        return _no_such_key(key, meant, f"with {group}={name}, ")
    if choices := choices_with(key):
        return f"{key}: no such key with what was chosen; it belongs to {' or '.join(choices[:4])}"
    if key in known_keys():
        return f"{key}: no such key with what was chosen; another choice of its group has it"
    return _no_such_key(key, OTHER_KEYS.get(key.lower()) or nearest_key(key, known_keys()))


def _no_such_key(key: str, meant: str | None, where: str = "") -> str:
    hint = f"did you mean {meant}? " if meant else ""
    is_read = key.partition(".")[0] in {"hydra", *(field.name for field in fields(Root))}
    more = f"{where}write +{key}=… for an argument that no file lists" if is_read else "--help lists the keys"
    return f"{key}: no such key; {hint}{more}"


def _omegaconf(error: OmegaConfBaseException) -> str | None:
    cause: BaseException | None = error.__cause__ or error.__context__
    while cause is not None:  # a resolver of ours
        if isinstance(cause, InputError):
            return single_line(str(cause))
        cause = cause.__cause__ or cause.__context__
    said = single_line(str(error.msg or error).splitlines()[0])
    _, marker, own = said.partition("InputError raised while resolving interpolation: ")
    if marker:
        return own
    return f"{error.full_key}: {said}" if error.full_key else said


def _operating_system(error: OSError) -> str | None:
    name = f"{error.filename}: " if error.filename else ""
    if error.errno == errno.EFBIG:
        return f"{name}{error.strerror}: raise the limit of a file's size, see ulimit -f"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return f"{name}{error.strerror}: free some space, or write elsewhere"
    if isinstance(
        error, FileNotFoundError | FileExistsError | NotADirectoryError | IsADirectoryError | PermissionError
    ):
        return f"{name}{error.strerror}" if name else None
    return None


def hint_for_option(arguments: Sequence[str]) -> str:
    """Return the keys that options such as ``--epochs 3`` were meant for, and how keys are set."""
    meant = []
    for option, following in zip(arguments, [*arguments[1:], "-"], strict=True):
        name, _, value = option.lstrip("-").replace("-", "_").partition("=")
        if option.startswith("--") and name not in ("", "config_dir", "config_name", "config_path"):
            keys = [key for key in known_keys() if key.rpartition(".")[2] == name]
            keys.sort(key=lambda key: (key.startswith("hydra."), key.count(".")))
            if found := OTHER_KEYS.get(name, keys[0] if keys else None):
                value = value or ("…" if following.startswith("-") else following)
                meant.append(found if "=" in found else f"{found}={value}")
    if {each.lstrip("-") for each in arguments if each[:2] == "--"} & SAME_COMMAND:
        return CONTINUES
    hint = f"did you mean {' '.join(meant)}? " if meant else ""
    first_key = next((place for place, each in enumerate(arguments) if each[:1] != "-"), len(arguments))
    if not meant and any(each[:1] == "-" for each in arguments[first_key:]):
        return "options, such as --config-dir FOLDER, stand before the keys; --help lists them"
    return f"{hint}values are set by key=value, without dashes; --help lists the options"


def single_line(text: str) -> str:
    """Join the lines of a message, without control characters, which could steer the terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", " ".join(text.split()))


def nearest_key(name: str, known: list[str]) -> str | None:
    """Return the key that was meant by another: like the whole of it, or its last part; or the keys beside it."""
    prefix, _, last = name.rpartition(".")
    if slip := nearest(name, known, cutoff=1):
        return slip
    known = [key for key in known if key.startswith("hydra") == name.startswith("hydra")]
    node = rf"(.*\.)?{re.escape(prefix)}\." if prefix else ""  # decoder.lr is beside model.decoder.dropout
    beside = {key.rpartition(".")[2]: key for key in known if re.fullmatch(rf"{node}[^._][^.]*", key)}
    anywhere = {key.rpartition(".")[2]: key for key in sorted(known, key=lambda key: -key.count("."))}
    within = [key for key in known if prefix and f".{prefix}." in f".{key}" and key.endswith(f".{last}")]
    if last in beside or within:
        return beside.get(last) or min(within, key=lambda key: key.count("."))
    if last in anywhere:
        same = [
            key
            for key in known
            if key.rpartition(".")[2] == last and key.count(".") == anywhere[last].count(".")
        ]
        return " or ".join(sorted(same)[:3])
    for keys, cutoff in ((beside, 0.6), (anywhere, 0.75)):
        if found := nearest(last, keys, cutoff):
            return keys[found]
    nodes = {key.rpartition(".")[0] for key in known}
    if prefix not in ("", *known) and (near := nearest(prefix, sorted(nodes))):
        return f"{near}.{last}"
    few = [*beside.values()][:12] if prefix else []
    return f"one of {', '.join(few)}" if few[1:] else "".join(few) or None


# --- code of the user's ---


def frames_of_user(error: BaseException) -> list[tuple[FrameType, int]]:
    """Return the frames of an exception, with their lines, that lie outside of this program and of installed packages."""
    ours = str(Path(__file__).parents[2]) + os.sep, "<", os.path.dirname(os.__file__)
    main = str(Path(getattr(sys.modules["__main__"], "__file__", "") or "").absolute())
    return [
        (frame, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not (path := frame.f_code.co_filename).startswith(ours)
        and "site-packages" not in path
        and str(Path(path).absolute()) != main
    ]


def show_frames_of_user(error: BaseException) -> bool:
    """Print an exception with the user's frames and the part that failed; False if there are none."""
    chain = [error]
    while (link := chain[-1].__cause__ or chain[-1].__context__) and link not in chain:
        chain.append(link)
    for failed in chain:
        if frames := frames_of_user(failed):
            print("Traceback of your code (HYDRA_FULL_ERROR=1 shows all of it):", file=sys.stderr)
            print("".join(traceback.StackSummary.extract(iter(frames)).format()), end="", file=sys.stderr)
            part, message = frames[-1][0].f_code.co_qualname, single_line(str(failed))[:500]
            print(f"error: {part} failed: {type(failed).__name__}: {message}", file=sys.stderr)
            return True
    return False
