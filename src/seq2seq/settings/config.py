"""The configuration of a run: where it is, how it is composed, what is wrong with it, and its final value."""

import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from functools import cache, cached_property
from glob import glob
from pathlib import Path
from typing import Any, Literal, cast

import hydra.utils
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from omegaconf import DictConfig, OmegaConf

from hydra_checked import arguments_of, imported, kind_of, nearest, objects, problems, unlike
from seq2seq.common.errors import InputError
from seq2seq.common.named import flat
from seq2seq.settings.bounds import BY_CLASS
from seq2seq.settings.names import UNSET, folder_name, run_name
from seq2seq.settings.root import MOVED, Root

CONF = next(
    folder
    for folder in (Path(__file__).parents[1] / "conf", Path(__file__).parents[3] / "conf")
    if folder.is_dir()
)
"""The configuration: inside the package where it is installed from a wheel, else that of the clone."""

OBJECTS = "data", "model", "module", "optimizer", "scheduler", "trainer", "callbacks", "logger"
"""Nodes that hold objects, by `_target_`."""

EXAMPLES = {f"data.{side}_language": "CODE" for side in ("source", "target")} | {
    "data.train.source": "FILE data.train.target=FILE"
}
"""Values for messages."""

PLACES = {
    "data": "data", "tokenizer": "data.tokenizer", "encoder": "model.encoder", "decoder": "model.decoder",
    "attention": "model.decoder.attention", "objective": "module.objective", "optimizer": "optimizer",
    "scheduler": "scheduler", "averaging": "callbacks.averaging", "penalty": "decoding.penalty",
}  # fmt: skip
"""Group -> node of the object that it chooses."""

PASSED = {
    "data": ("batch_size",),
    "model": ("source_vocab_size", "target_vocab_size"),
    "model.encoder": ("input_size", "dropout"),
    "model.decoder": ("embedding", "memory_size", "summary_size", "dropout"),
    "model.decoder.attention": ("query_size", "memory_size"),
    "model.decoder.attention.score": ("query_size", "key_size"),
    "data.tokenizer": ("language",),
    "data.target_tokenizer": ("language",),
    "module": ("model",),
}
"""Arguments that the program gives to objects of the configuration when it builds them, or before, where they are null."""

FACTORIES = r"model(\..+)?|optimizer|scheduler|data\.(target_)?tokenizer"
"""Nodes that are built later, with what follows from the text."""

BASES = {
    "model.encoder": ("an encoder", "seq2seq.models.encoder.Encoder"),
    "model.decoder": ("a decoder", "seq2seq.models.decoder.Decoder"),
    "model.decoder.attention.score": ("a score", "seq2seq.attention.other_scores.Score"),
    "callbacks.NAME": ("a callback", "lightning.pytorch.callbacks.Callback"),
}
"""Node -> what its class is called, and the base class whose calls its methods take."""

MOST = 2**32 - 1
"""Maximum of whole numbers, of the classes of this program, of Lightning and of PyTorch."""

TAKEN: dict[str, dict[str, Any]] = {
    "scheduler": {"interval": Literal["step", "epoch"]},
    "optimizer": {"groups": list, "decay_vectors": bool},
}
"""Arguments that the program takes from a node, with their annotations, beside those of its class or function."""


@dataclass(frozen=True)
class Settings:
    """The configuration of a run, as it is composed and resolved; nothing writes to it.

    `given` has the keys that the command line gives, with their values; `notes` are lines for the user.
    """

    config: DictConfig
    given: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @cached_property
    def values(self) -> dict[str, Any]:
        """The configuration by dotted key."""
        return flat(OmegaConf.to_container(self.config))

    @property
    def dry(self) -> bool:
        """Whether Lightning runs some batches and writes nothing."""
        return bool(self.config.trainer.get("fast_dev_run"))

    def updated(self, values: Mapping[str, Any]) -> "Settings":
        """Return settings with other values, by dotted key."""
        config = OmegaConf.create(OmegaConf.to_container(self.config))
        for key, value in values.items():
            OmegaConf.update(config, key, value, force_add=True)
        return Settings(frozen(config), self.given, self.notes)


def frozen(config: Any) -> DictConfig:
    """Return a configuration that cannot be written to and in which a missing key is an error."""
    config = OmegaConf.create(config)
    OmegaConf.set_struct(config, True)
    OmegaConf.set_readonly(config, True)
    return config


# --- composing ---


def as_value(text: str) -> str:
    """Return a text as Hydra's grammar reads it: in quotes, where it needs them."""
    if re.fullmatch(r"[\w/.:-]+", text):
        return text
    return "'" + re.sub(r"(\\*)('|$)", lambda found: 2 * found[1] + ("\\'" if found[2] else ""), text) + "'"


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


UTILS: Any = hydra.utils  # whose names depend on the version
HAS_WHITELIST = hasattr(UTILS, "execution_whitelist")
"""Whether this is Hydra 1.4 or later."""

HYDRA_BASE: dict[str, Any] = {} if HAS_WHITELIST else {"version_base": "1.3"}
"""Arguments of ``hydra.initialize``: the behavior of Hydra 1.3, which later versions have without them."""

HYDRA_MAIN: dict[str, Any] = HYDRA_BASE | (
    {"execution_whitelist": UTILS.UNSAFE_DISABLE_EXECUTION_CHECKS} if HAS_WHITELIST else {}
)
"""Arguments of ``hydra.main``: loggers and callbacks of the node `hydra` are what the user's configuration names."""

_register: Any = OmegaConf.register_resolver if HAS_WHITELIST else OmegaConf.register_new_resolver
_register("run_name", run_name, replace=True)
_register("folder_name", folder_name, replace=True)
_register("is_terminal", is_terminal, replace=True)

_COMPOSING = threading.RLock()


@contextmanager
def composed(overrides: Sequence[str] = ()) -> Iterator[DictConfig]:
    """Compose the configuration; in the context its interpolations ``${hydra:…}`` can be resolved.

    Hydra keeps its state for the whole process. That of the caller, which may be a Hydra application itself, is
    restored, and threads compose one after the other.
    """
    with _COMPOSING:
        Plugins.instance()  # from Hydra 1.4 on, they store their configuration once in a process: the state has it
        state = Singleton.get_state()
        try:
            GlobalHydra.instance().clear()
            with initialize_config_dir(str(CONF), **HYDRA_BASE):
                config = compose("config", deletable(overrides), return_hydra_config=True)
            HydraConfig.instance().set_config(config)
            yield config
        finally:
            Singleton.set_state(state)


def deletable(overrides: Sequence[str]) -> list[str]:
    """Return overrides in which ``~KEY`` also deletes a key that is null, which Hydra takes for one that is missing.

    Such a key is given another value before it is deleted, which Hydra refuses if there is no such key.
    """
    own = [each for each in overrides if re.fullmatch(r"~(?!hydra\.)\w+(\.\w+)*", each)]
    nodes = [each for each in own if "." in each or not (CONF / each[1:]).is_dir()]
    return [
        word for each in overrides for word in ([f"{each[1:]}={UNSET}"] if each in nodes else []) + [each]
    ]


def given_keys(overrides: Sequence[str]) -> dict[str, Any]:
    """Return the keys that overrides set, with their values; those of mappings by dotted key."""
    given: dict[str, Any] = {}
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        if not override.is_delete() and override.value() != UNSET:
            given |= flat(override.value(), override.key_or_group)
    return given


def settings_of(config: DictConfig, overrides: Sequence[str], run_dir: str | Path) -> Settings:
    """Resolve a composed configuration; `config` stays as it is.

    Raises:
        InputError: A value is missing, nothing reads a key, or the folder is given where it is not read.
    """
    given = given_keys(overrides)
    if "paths.run_dir" in given:
        raise InputError(
            "paths.run_dir follows from the others: give name=… for another folder of the experiment, paths.runs_dir=… "
            "for that of all runs, or hydra.run.dir=… for any other"
        )
    if "paths.runs_dir" in given and not str(config.paths.runs_dir or "").strip():
        raise InputError(f"paths.runs_dir={config.paths.runs_dir}: give the folder of all runs")
    for override in overrides:
        key, _, text = override.lstrip("+").partition("=")
        if (
            key in ("name", "experiment_name")
            and not isinstance(config[key], str)
            and str(config[key]) != text
        ):
            raise InputError(
                f"{key}={text} is read as {config[key]}: write \"{key}='{text}'\", with both quotes"
            )
    require_read(config, given)
    config = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    OmegaConf.set_readonly(config, False)
    missing = sorted(OmegaConf.missing_keys(config))
    if missing:
        for key in ("data.file", "data.train.source", "data.train.target"):  # a wrong name is said first
            path = OmegaConf.select(config, key)
            if isinstance(path, str) and "://" not in path and not (Path(path).exists() or glob(path)):
                raise InputError(f"{key}={path}: there is no such file")
        needed = " ".join(f"{key}={EXAMPLES.get(key, '…')}" for key in missing)
        codes = " (CODE: such as en or de)" if "CODE" in needed else ""
        raise InputError(f"{', '.join(missing)}: needed{codes}, give {needed}")
    OmegaConf.update(config, "paths.run_dir", str(run_dir), force_add=True)
    values = OmegaConf.to_container(config, resolve=True)
    assert isinstance(values, dict)
    left_out = {field.name: field.default for field in fields(Root) if field.default is not MISSING}
    values = left_out | {key: value for key, value in values.items() if key in Root.__dataclass_fields__}
    for key in ("callbacks", "logger"):
        values[key] = values[key] or {}
    return Settings(frozen(values), given)


def require_read(config: DictConfig, given: Mapping[str, Any]) -> None:
    """Refuse keys of the root that nothing reads, wherever they come from.

    Keys of the user's own that others read by an interpolation are no such keys.

    Raises:
        InputError: Naming the keys, or what a file lacks.
    """
    hydra = HydraConfig.get()
    choices, known = hydra.runtime.choices, [field.name for field in fields(Root)]
    if hydra.job.chdir:
        raise InputError(
            "hydra.job.chdir=true: a run reads files by their names in the working folder: leave this key out"
        )
    groups = [key for key in (*given, *choices) if (CONF / key).is_dir() and "/" not in key]  # not Hydra's
    if groups and not {*groups} & {*choices}:
        raise InputError(without_groups(groups[0]))
    refuse(
        [
            f"{key}: since 0.5 it is {MOVED[key]}"
            for key in flat(OmegaConf.to_container(config))
            if key in MOVED and key.rpartition(".")[2] not in stored().get(config.data._target_, {})
        ]
    )
    read = " ".join(re.findall(r"\$\{[^}]*", OmegaConf.to_yaml(config)))
    unread = [str(key) for key in config if key not in (*known, "hydra")]
    unread = [key for key in unread if not re.search(rf"\b{re.escape(key)}\b", read)]
    for key in unread:
        if key in choices:
            raise InputError(
                f"{key}={choices[key]}: its file gives its keys to {key}, which nothing reads: write as its first line "
                f"# @package {package_of(next((CONF / key).glob('*.yaml'), None))}"
            )
    if unread:
        meant = list(filter(None, (nearest(key, known) for key in unread)))
        hint = f"did you mean {', '.join(meant)}?" if meant else f"those of the root are {', '.join(known)}"
        raise InputError(
            f"{', '.join(unread)}: nothing reads {'this key' if len(unread) == 1 else 'these'}; {hint}"
        )


def without_groups(group: str) -> str:
    """Return the message for a choice in a configuration that has no groups, such as that of a run."""
    return (
        f"{group}=…: this configuration has no groups, as that of a run: give its keys, such as {PLACES.get(group, group)}.…, or "
        f"{group}=… with the command of the run, see its overrides.yaml"
    )


def package_of(file: Path | None) -> str:
    """Return the node that a file of the configuration gives its keys to, by its first line."""
    head = "" if file is None else file.read_text(encoding="utf-8").partition("\n")[0]
    return head.partition("# @package ")[2] or (file.parent.name if file else "_global_")


# --- checking ---


def complete(settings: Settings) -> Settings:
    """Check every object, and return settings without what files of the configuration give and a class does not take.

    Arguments that are null are left out; and, where the command line chooses the class, those that it does not give
    itself, with a note: the files gave them to another class.

    Raises:
        InputError: See `check`.
    """
    values = OmegaConf.to_container(settings.config)
    assert isinstance(values, dict)
    for group in ("callbacks", "logger"):
        if group in values["trainer"]:
            raise InputError(f"trainer.{group}: give +{group}.NAME._target_=…")
        for name, node in list(values[group].items()):
            if node and not (isinstance(node, dict) and "_target_" in node):
                del values[group][name]  # of a recipe, for a callback that was deleted
    parts, notes = {key: values[key] for key in OBJECTS}, []
    for key, node, target in objects(parts):
        if re.fullmatch(FACTORIES, key):
            node["_partial_"] = True
        taken, takes_any = taken_by(key, target)
        others = [name for name in node if name[0] != "_" and name not in taken and not takes_any]
        chosen = _is_chosen(settings.given, key)
        left = [name for name in others if chosen and not _is_given(settings.given, f"{key}.{name}")]
        if told := [name for name in left if node[name] is not None]:
            notes.append(f"{key}: {', '.join(told)} left out, which {node['_target_']} does not take")
        for name in others:
            if name in left or node[name] is None:
                del node[name]
    check(parts)
    for key, _, target in objects(parts):
        require_methods(key, target_of(key, target))
    return Settings(frozen(values), settings.given, tuple(notes))


def require_methods(key: str, target: Any) -> None:
    """Refuse a class whose methods do not take what the program gives them.

    Raises:
        InputError: Naming the arguments that one of its kind takes.
    """
    if getattr(target, "history_class", None):  # its calls take a history, too
        return
    found = BASES.get(re.sub(r"^callbacks\.[^.]+$", "callbacks.NAME", key))
    if found and isinstance(target, type) and (said := unlike(target, cast(type, imported(found[1])))):
        raise InputError(f"{key}: {said.format(found[0])}")


def _is_given(given: Mapping[str, Any], key: str) -> bool:
    return any(f"{each}.".startswith(f"{key}.") for each in given)


def _is_chosen(given: Mapping[str, Any], key: str) -> bool:
    """Return whether the command line chooses the class of an object: by ``_target_``, its part's group, or a recipe."""
    groups = [group for group, place in PLACES.items() if f"{key}.".startswith(f"{place}.")]
    innermost = max(groups, key=lambda group: len(PLACES[group]), default=None)
    recipe = CONF / "recipe" / f"{given.get('recipe')}.yaml"
    by_recipe = recipe.is_file() and f"override /{innermost}:" in recipe.read_text(encoding="utf-8")
    return f"{key}._target_" in given or innermost in given or by_recipe


@cache
def stored() -> dict[str, dict[str, Any]]:
    """Return the bounds of all classes that ``conf/`` names, without importing them."""
    found: dict[str, dict[str, Any]] = json.loads((CONF / "bounds.json").read_text(encoding="utf-8"))
    return found


def check(node: Any, key: str = "") -> None:
    """Check every object, that of a node and those below it, against the signature of its class or function.

    `key` is that of the node.

    Raises:
        InputError: A target does not exist, takes no such argument or lacks one, or its annotation forbids the
            value. The message names the keys and the nearest argument.
    """
    taken = {place: {name: kind_of(hint) for name, hint in hints.items()} for place, hints in TAKEN.items()}
    refuse(problems(node, key=key, passed=PASSED, taken=taken, bounds=BY_CLASS))


def check_values(values: Mapping[str, Any]) -> None:
    """Refuse keys that nothing takes and values outside their bounds, as far as that is known without importing a class.

    Raises:
        InputError: Naming the key.
    """
    refuse(problems(values, Root, bounds=stored(), imports=False, passed=PASSED))
    for place, node, target in objects(values):
        if str(target).startswith(("seq2seq.", "lightning.", "torch.")):
            for key, value in flat(node, place).items():
                if isinstance(value, int) and abs(value) > MOST:
                    raise InputError(f"{key}={value}: expected at most {MOST:,}")


def refuse(found: Sequence[str]) -> None:
    """Raise InputError with the first of the lines that `hydra_checked.problems` returns, if there are any."""
    if found:
        raise InputError("; ".join(found[:2]))


def taken_by(key: str, path: Any) -> tuple[dict[str, Any], bool]:
    """Return the arguments of a node, with their annotations, and whether it takes any others, see `arguments_of`."""
    arguments, takes_any = arguments_of(target_of(key, path))
    return arguments | TAKEN.get(key, {}), takes_any


def did_you_mean(name: str, known: Iterable[str], before: str = "") -> str:
    """Return the question whether another name was meant, with what stands before it; an empty text if none is like it."""
    meant = nearest(name, known)
    return f"did you mean {before}{meant}? " if meant else ""


def target_of(key: str, path: Any) -> Callable[..., Any]:
    """Import the class or function that `_target_` names.

    Raises:
        InputError: There is none.
    """
    try:
        return imported(path)
    except ImportError as error:
        raise InputError(f"{key}._target_={path}: {' '.join(str(error).split())}") from error


ASSEMBLED = ("experiment", "recipe", "debug", "hparams_search")
"""Groups whose choices give values to keys of others."""


def choices_with(key: str) -> list[str]:
    """Return the choices, such as ``data=parallel``, whose files list a key; one that only inherits it is not among them."""
    found = []
    for path in sorted(each for each in CONF.glob("*/*.yaml") if each.parent.name not in ASSEMBLED):
        node = package_of(path)
        before = "" if node == "_global_" else f"{node}."
        listed = flat(OmegaConf.to_container(OmegaConf.load(path)))
        if any(f"{before}{each}.".startswith(f"{key}.") for each in listed):
            found.append(f"{path.parent.name}={path.stem}")
    return found


@cache
def known_keys() -> list[str]:
    """Return every group and every dotted key of the default configuration, those of Hydra among them."""
    keys = {path.name for path in CONF.iterdir() if path.is_dir()}
    with composed() as config:
        keys |= {
            group for group in map(str, config.hydra.runtime.choices) if "/" in group and "@" not in group
        }
        listed = [key for key in flat(OmegaConf.to_container(config)) if not key.startswith("hydra.runtime.")]
    for key in listed:
        keys |= {key[:end] for end, letter in enumerate(key) if letter == "."} | {key}
    return sorted(keys)
