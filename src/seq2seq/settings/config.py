"""The configuration of a run: where it is, how it is composed, what is wrong with it, and its final value."""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache, cached_property
from glob import glob
from pathlib import Path
from typing import Any, Literal, cast

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from hydra_checked import arguments_of, flat, imported, kind_of, objects, problems, unlike
from hydra_checked.program import folder_name, given_keys, register_resolver, run_name
from seq2seq.common.errors import InputError
from seq2seq.settings.application import APPLICATION, CONF, OBJECTS, PLACES
from seq2seq.settings.bounds import BY_CLASS
from seq2seq.settings.root import Root

composed = APPLICATION.composed
"""Compose the configuration with overrides, in a context; see `hydra_checked.program.Application`."""

EXAMPLES = {f"data.{side}_language": "CODE" for side in ("source", "target")} | {
    "data.train.source": "FILE data.train.target=FILE"
}
"""Values for messages."""

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


def run_name_of(
    overrides: Sequence[str], excluded: Sequence[str], experiment_name: str, *, _root_: Any = None
) -> str:
    """Return the name of a run; the folder of its experiment names an experiment file already, if both have one name."""
    named = [each for each in overrides if each.lstrip("+~") != f"experiment={experiment_name}"]
    return run_name(named, excluded, "seq2seq", _root_=_root_)


register_resolver("run_name", run_name_of, replace=True)
register_resolver("folder_name", folder_name, replace=True)
register_resolver("is_terminal", lambda: sys.stdout.isatty(), replace=True)  # noqa: PLW0108 - stdout may change


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
    runs_dir = str(config.paths.runs_dir or "").strip()
    if "paths.runs_dir" in given and (not runs_dir or Path(runs_dir).is_file()):
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
    """Refuse keys that nothing reads, wherever they come from.

    Raises:
        InputError: Naming the keys, or what a file lacks.
    """
    if HydraConfig.get().job.chdir:
        raise InputError(
            "hydra.job.chdir=true: a run reads files by their names in the working folder: leave this key out"
        )
    refuse(
        [
            f"{key}: {APPLICATION.moved[key]}"
            for key in flat(OmegaConf.to_container(config))
            if key in APPLICATION.moved
            and key.rpartition(".")[2] not in stored().get(config.data._target_, {})
        ]
    )
    refuse(APPLICATION.unread(config, given)[:1])


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


def target_of(key: str, path: Any) -> Callable[..., Any]:
    """Import the class or function that `_target_` names.

    Raises:
        InputError: There is none.
    """
    try:
        return imported(path)
    except ImportError as error:
        raise InputError(f"{key}._target_={path}: {' '.join(str(error).split())}") from error
