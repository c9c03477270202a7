"""How Hydra composes here: it reads plain files by plain names, and what it made is judged.

Everything that Hydra does begins with a composed configuration: a run, a sweep and each of its
jobs, ``--cfg``, a completion. All are composed by one object, its loader, which is ours here. So
what is judged is what runs, and wherever a value is from, it is seen.
"""

import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from hydra._internal import hydra as hydra_itself
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from seq2seq.command_line.arguments import ONE_OR_MANY
from seq2seq.command_line.config_errors import CONFIG_ERRORS
from seq2seq.command_line.hydra_section import judge_hydra, leaves
from seq2seq.config import DATA_SCHEMAS, foreign_schema
from seq2seq.errors import InputError
from seq2seq.option_rules import key_of
from seq2seq.plain_text import shortened
from seq2seq.registry import foreign, offered
from seq2seq.storage.plain_yaml import plain_yaml

REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*(\.\w+)*)\}")
"""The one interpolation there is: all of a value, by the key of another, which is no reference."""

SCHEMAS, PACKAGES = {"schema/data": DATA_SCHEMAS, "schema/attention": {}}, "seq2seq.conf"
"""Groups of schemas that packages add to, with ours; the entry points of their folders conf."""

BUILT_IN, OF_REAL_TEXT = "grammar", "recipe=standard"
"""The corpus that `recipe: small` is for, and what other corpora have."""


@contextmanager
def judged_compositions() -> Iterator[None]:
    """Have whatever Hydra composes in the block judged, and what it composes elsewhere not."""
    # Hydra has no argument for it; a version without this name fails here, before it composes
    before = vars(hydra_itself).pop("ConfigLoaderImpl")
    vars(hydra_itself)["ConfigLoaderImpl"] = JudgedLoader
    try:
        yield
    finally:
        vars(hydra_itself)["ConfigLoaderImpl"] = before


class JudgedLoader(ConfigLoaderImpl):
    """Hydra's loader, of plain files, which refuses what `judge` refuses."""

    def __init__(self, config_search_path: ConfigSearchPath) -> None:
        self.config_search_path = config_search_path
        self.repository = PlainRepository(config_search_path)

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """Compose and judge.

        Raises:
            InputError: the configuration is refused, or nothing that Hydra can compose.
        """
        if not validate_sweep_overrides:  # Hydra asks for the mode, which --multirun alone says
            return OmegaConf.create({"hydra": {"mode": None}})
        for override in overrides:
            value = override.partition("=")[2].strip("'\"")
            _require_no_resolver(value or override, override)
        try:
            if run_mode is RunMode.MULTIRUN:
                overrides = [*self._parameters(config_name, overrides), *overrides]
            recipe = _recipe_of_corpus(overrides)
            given = [*recipe, *overrides]
            composed = super().load_configuration(config_name, given, run_mode, from_shell)
            for override in recipe:  # no argument, of which runs have their names
                composed.hydra.overrides.task.remove(override)
            judge(OmegaConf.to_container(composed, resolve=False), overrides)
        except (InputError, *CONFIG_ERRORS):
            raise
        except Exception as error:  # Hydra stumbles over odd defaults lists in many ways
            raise InputError(f"the configuration cannot be composed: {shortened(error)}") from error
        return composed

    def _compose_config_from_defaults_list(self, *args: Any, **kwargs: Any) -> DictConfig:
        composed = super()._compose_config_from_defaults_list(*args, **kwargs)
        if composed.hydra.mode is not None:
            raise InputError(f"hydra.mode: {ONE_OR_MANY}")
        return composed

    def _parameters(self, config_name: str | None, overrides: list[str]) -> list[str]:
        """What the sweep's file sets and the command line does not: it may choose `data`."""
        given = {key_of(override) for override in overrides}
        own = [override for override in overrides if key_of(override).split(".")[0] == "sweep"]
        composed = super().load_configuration(config_name, own, RunMode.MULTIRUN)
        parameters: Any = OmegaConf.to_container(composed["sweep"]["parameters"], resolve=False)
        of_jobs = (key for key in parameters if re.split(r"[./]", key)[0] != "hydra")
        return [f"{key}={parameters[key]}" for key in of_jobs if key not in given]


class PlainRepository(ConfigRepository):
    """The folders of configurations, in which plain names are looked up."""

    def initialize_sources(self, config_search_path: ConfigSearchPath) -> None:
        """Take the program's folder, that of the command line, and those of installed packages.

        Raises:
            InputError: a configuration names a folder, or the command line a package.
        """
        for entry in config_search_path.get_path():
            provider, path = str(entry.provider), str(entry.path)
            named = provider in {"main", "command-line"} and "://" in path.removeprefix("file://")
            if named or provider.startswith("hydra.searchpath"):
                raise InputError(f"{path}: give a folder of configurations by --config-dir")
        super().initialize_sources(config_search_path)
        self.sources = [
            PlainFileSource(source.provider, source.path) if source.scheme() == "file" else source
            for source in self.sources
        ]
        self.sources[-1:] = [*_sources_of_packages(), self.get_schema_source()]

    def get_group_options(
        self, group_name: str, results_filter: ObjectType | None = ObjectType.CONFIG
    ) -> list[str]:
        """The choices of a group.

        Raises:
            InputError: the group is no plain name.
        """
        _require_plain_name(group_name)
        return super().get_group_options(group_name, results_filter)

    def _find_object_source(
        self, config_path: str, object_type: ObjectType | None
    ) -> ConfigSource | None:
        _require_plain_name(config_path)
        group, _, name = config_path.rpartition("/")
        if object_type is ObjectType.CONFIG and name not in SCHEMAS.get(group, [name]):
            known: Any = self.get_schema_source()
            known.store.store(group=group, name=name, node=foreign_schema(Path(group).name, name))
        return super()._find_object_source(config_path, object_type)


class PlainFileSource(FileConfigSource):
    """A folder of plain YAML files."""

    def load_config(self, config_path: str) -> ConfigResult:
        """Read a file once.

        Raises:
            InputError: it is no plain YAML, or holds an interpolation other than a reference.
        """
        path = Path(self.path, self._normalize_file_name(config_path))
        text, scalars = plain_yaml(path)
        for scalar in scalars:
            _require_no_resolver(scalar, path)
        try:
            config = OmegaConf.load(io.StringIO(text))
            header = self._get_header_dict(text[:512])
        except (*CONFIG_ERRORS, OSError, yaml.YAMLError, ValueError, TypeError) as error:
            raise InputError(f"{path} is no configuration: {shortened(error)}") from error
        return ConfigResult(
            config=config, path=f"file://{self.path}", provider=self.provider, header=header
        )


def _sources_of_packages() -> Iterator[PlainFileSource]:
    """The folders ``conf`` of packages that ``seq2seq.conf`` names, which are not imported."""
    for entry in sorted(offered(PACKAGES), key=lambda each: (each.name, each.value)):
        package = entry.dist.name if entry.dist else entry.value
        try:
            with foreign("it cannot be found"):
                spec = find_spec(entry.value)
                places = [Path(each, "conf") for each in spec.submodule_search_locations]  # type: ignore[union-attr]
                yield PlainFileSource(package, str(next(each for each in places if each.is_dir())))
        except ImportError:
            said = f"{PACKAGES} of the package {package!r}: {entry.value!r} has no folder conf"
            print(f"WARNING: left out: {said}", file=sys.stderr)


def _recipe_of_corpus(overrides: Sequence[str]) -> list[str]:
    """Real text has a recipe of its own where neither a recipe nor an experiment is chosen.

    Hydra reads the choice of a recipe before that of the corpus, which cannot override it.
    """
    chosen = {key_of(each): each.partition("=")[2] for each in overrides if "=" in each}
    is_left = not {"recipe", "experiment"} & chosen.keys()
    return [OF_REAL_TEXT] if is_left and chosen.get("data", BUILT_IN) != BUILT_IN else []


def judge(composed: Any, overrides: Sequence[str]) -> None:
    """Refuse a configuration that names something to import or to call.

    Args:
        composed: with the section of Hydra, nothing interpolated.
        overrides: those that it was composed with.

    Raises:
        InputError: it does; or a reference leads to another, or to more than one value.
    """
    judge_hydra(composed.pop("hydra", None), overrides)
    values = {place[1:]: value for place, value in leaves(composed, "")}
    for key, value in values.items():
        if "_target_" in key.split("."):
            raise InputError(f"{shortened(key)}: a configuration names no code")
        if isinstance(value, str) and "${" in value:
            _require_value_at_its_end(key, value, values)


def _require_plain_name(path: str) -> None:
    parts = path.split("/")
    if ".." in parts or "\\" in path or "" in parts[:-1]:
        raise InputError(
            f"{shortened(path)}: a choice is a plain name, with / inside it at most: it leads to "
            "no other folder"
        )


def _require_value_at_its_end(key: str, value: str, values: dict[str, Any]) -> None:
    """What is referred to is one value: references cannot add up to something huge."""
    _require_no_resolver(value, key)
    referred = value[2:-1]
    several = any(other.startswith(f"{referred}.") for other in values)
    if several or "${" in str(values.get(referred)):
        raise InputError(
            f"{key}={value}: {referred} is no value of its own; write the value itself"
        )


def _require_no_resolver(value: str, place: object) -> None:
    if "${" in value and not REFERENCE.fullmatch(value):
        raise InputError(
            f"{shortened(place)}: {shortened(value)} is refused: ${{KEY}}, the value of another "
            "key, is all that can stand for a value"
        )
