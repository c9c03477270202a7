"""What an application says of itself, as data, and what its configuration has."""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import hydra.utils
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from omegaconf import DictConfig, OmegaConf

from hydra_checked.checking import flat
from hydra_checked.names import nearest
from hydra_checked.program.overrides import UNSET

UTILS: Any = hydra.utils  # whose names depend on the version
HAS_WHITELIST = hasattr(UTILS, "execution_whitelist")
"""Whether this is Hydra 1.4 or later."""

HYDRA_BASE: dict[str, Any] = {} if HAS_WHITELIST else {"version_base": "1.3"}
"""Arguments of ``hydra.initialize``: the behavior of Hydra 1.3, which later versions have without them."""

HYDRA_MAIN: dict[str, Any] = HYDRA_BASE | (
    {"execution_whitelist": UTILS.UNSAFE_DISABLE_EXECUTION_CHECKS} if HAS_WHITELIST else {}
)
"""Arguments of ``hydra.main``: loggers and callbacks of the node `hydra` are what the user's configuration names."""

register_resolver: Any = OmegaConf.register_resolver if HAS_WHITELIST else OmegaConf.register_new_resolver

_COMPOSING = threading.RLock()


@dataclass(frozen=True)
class Application:
    """A Hydra application, as far as messages need it.

    Attributes:
        conf: Folder of its configuration: ``config.yaml``, and a folder of choices for each group.
        code: Folders of its code; tracebacks show the frames of others.
        schema: A dataclass of the keys of the root.
        classes: Group -> node whose `_target_` may name a class of the user's.
        assembled: Groups whose choices give values to keys of other groups.
        other_choices: (group, name in other programs) -> choice here.
        other_keys: Key or option of other programs -> key here.
        answers: Key or option of other programs -> what is done here in its place.
        moved: Key of an earlier version -> what is said of it.
        files: Group -> how a file is given that stands in place of a choice.
        memory: What needs less memory.
    """

    conf: Path
    code: Sequence[Path]
    schema: type | None = None
    classes: Mapping[str, str] = field(default_factory=dict)
    assembled: Sequence[str] = ()
    other_choices: Mapping[tuple[str, str], str] = field(default_factory=dict)
    other_keys: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    memory: str = "lower what the program holds at a time"

    @cached_property
    def root(self) -> list[str]:
        """The keys of the root that the schema has."""
        return [each.name for each in fields(self.schema)] if self.schema else []

    @cached_property
    def known_keys(self) -> list[str]:
        """Every group and every dotted key of the default configuration, those of Hydra among them."""
        keys = {path.name for path in self.conf.iterdir() if path.is_dir()}
        with self.composed() as config:
            chosen = map(str, config.hydra.runtime.choices)
            keys |= {group for group in chosen if "/" in group and "@" not in group}
            listed = [
                key for key in flat(OmegaConf.to_container(config)) if not key.startswith("hydra.runtime.")
            ]
        for key in listed:
            keys |= {key[:end] for end, letter in enumerate(key) if letter == "."} | {key}
        return sorted(keys)

    def is_group(self, key: str) -> bool:
        """Return whether a key is a group, whose choices are files of its folder."""
        return (self.conf / key).is_dir()

    @contextmanager
    def composed(self, overrides: Sequence[str] = ()) -> Iterator[DictConfig]:
        """Compose the configuration; in the context its interpolations ``${hydra:…}`` can be resolved.

        Hydra keeps its state for the whole process. That of the caller, which may be a Hydra application itself, is
        restored, and threads compose one after the other.
        """
        with _COMPOSING:
            Plugins.instance()  # from Hydra 1.4 on, they store their configuration once in a process: the state has it
            state = Singleton.get_state()
            try:
                GlobalHydra.instance().clear()
                with initialize_config_dir(str(self.conf.absolute()), **HYDRA_BASE):
                    config = compose("config", self.deletable(overrides), return_hydra_config=True)
                HydraConfig.instance().set_config(config)
                yield config
            finally:
                Singleton.set_state(state)

    def deletable(self, overrides: Sequence[str]) -> list[str]:
        """Return overrides in which ``~KEY`` also deletes a key that is null, which Hydra takes for one that is missing.

        Such a key is given another value before it is deleted, which Hydra refuses if there is no such key.
        """
        own = [each for each in overrides if re.fullmatch(r"~(?!hydra\.)\w+(\.\w+)*", each)]
        nodes = [each for each in own if "." in each or not self.is_group(each[1:])]
        return [
            word for each in overrides for word in ([f"{each[1:]}={UNSET}"] if each in nodes else []) + [each]
        ]

    def choices_with(self, key: str) -> list[str]:
        """Return the choices, such as ``data=parallel``, whose files list a key; one that only inherits it is not among them."""
        found = []
        for path in sorted(self.conf.glob("*/*.yaml")):
            if path.parent.name in self.assembled:
                continue
            before = f"{package_of(path)}.".replace("_global_.", "")
            listed = flat(OmegaConf.to_container(OmegaConf.load(path)))
            if any(f"{before}{each}.".startswith(f"{key}.") for each in listed):
                found.append(f"{path.parent.name}={path.stem}")
        return found

    def without_groups(self, group: str) -> str:
        """Return the message for a choice in a configuration that has no groups, such as that of a run."""
        node = package_of(next((self.conf / group).glob("*.yaml"), None)).replace("_global_", group)
        return (
            f"{group}=…: this configuration has no groups, as that of a run: give its keys, such as {node}.…, or "
            f"{group}=… with the command of the run, see its overrides.yaml"
        )

    def unread(self, config: DictConfig, given: Mapping[str, Any]) -> list[str]:
        """Return a line each for choices without an effect and keys of the root that nothing reads, wherever they come from.

        Keys of the user's own that others read by an interpolation are no such keys.

        Args:
            config: Composed by Hydra, with its node `hydra`.
            given: The keys that the command line sets.
        """
        choices = HydraConfig.get().runtime.choices
        groups = [key for key in (*given, *choices) if self.is_group(key) and "/" not in key]  # not Hydra's
        if groups and not {*groups} & {*choices}:
            return [self.without_groups(groups[0])]
        read = " ".join(re.findall(r"\$\{[^}]*", OmegaConf.to_yaml(config)))
        keys = [str(key) for key in config if key not in (*self.root, "hydra")] if self.schema else []
        keys = [key for key in keys if not re.search(rf"\b{re.escape(key)}\b", read)]
        if misplaced := [
            f"{key}={choices[key]}: its file gives its keys to {key}, which nothing reads: write as its first line "
            f"# @package {package_of(next((self.conf / key).glob('*.yaml'), None))}"
            for key in keys
            if key in choices
        ]:
            return misplaced
        meant = list(filter(None, (nearest(key, self.root) for key in keys)))
        hint = (
            f"did you mean {', '.join(meant)}?" if meant else f"those of the root are {', '.join(self.root)}"
        )
        those = "this key" if len(keys) == 1 else "these"
        return [f"{', '.join(keys)}: nothing reads {those}; {hint}"] if keys else []


def package_of(file: Path | None) -> str:
    """Return the node that a file of the configuration gives its keys to, by its first line."""
    head = "" if file is None else file.read_text(encoding="utf-8").partition("\n")[0]
    return head.partition("# @package ")[2] or (file.parent.name if file else "_global_")
