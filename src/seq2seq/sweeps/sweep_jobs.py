"""Overrides as the jobs of a sweep."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from seq2seq.command_line.config_errors import as_config
from seq2seq.config import Config, SweepConfig
from seq2seq.errors import InputError
from seq2seq.experiments.job import Job
from seq2seq.experiments.ledger import fingerprint, flat
from seq2seq.option_rules import COUNTS, key_of, without_effect
from seq2seq.runs.run_folder import named_in_sweep, run_folder
from seq2seq.runs.run_record import config_values


@dataclass(frozen=True, slots=True)
class Swept:
    """What the command line and the file of the sweep set, by key.

    Attributes:
        config: how to sweep.
        overrides: of the jobs.
    """

    config: SweepConfig
    overrides: dict[str, Override]

    def swept_keys(self) -> set[str]:
        """Keys that have several values."""
        return {key for key, each in self.overrides.items() if each.is_sweep_override()}


class Composer:
    """Makes configurations of overrides, as `seq2seq train` does with its command line.

    Args:
        hydra_context: Hydra's own way to compose.
        config: what Hydra composed for the sweep.
    """

    def __init__(self, hydra_context: HydraContext, config: DictConfig) -> None:
        self._loader = hydra_context.config_loader
        self._config = config
        self._parser = OverridesParser.create(config_loader=self._loader)

    def _compose(self, overrides: Sequence[str]) -> DictConfig:
        composed = self._loader.load_sweep_config(self._config, list(overrides))
        with read_write(composed), open_dict(composed):
            del composed["hydra"]
        return composed

    def compose(self, overrides: Sequence[str]) -> Config:
        """The configuration of a job.

        Raises:
            InputError: a value is out of range.
        """
        return as_config(self._compose(overrides))

    def swept(self, arguments: Sequence[str]) -> Swept:
        """Take the command line apart; it goes before the file of the sweep.

        Raises:
            InputError: a key of the sweep has several values itself.
        """
        given = {
            each.get_key_element(): each for each in self._parser.parse_overrides(list(arguments))
        }
        own = [key for key in given if key.partition(".")[0] == "sweep"]
        for key in own:
            if given[key].is_sweep_override():
                raise InputError(f"{given[key].input_line}: a sweep has one value of {key}")
        composed = self._compose([given.pop(key).input_line or "" for key in own])
        config = OmegaConf.to_object(composed["sweep"])
        if not isinstance(config, SweepConfig):
            raise TypeError(f"composed a {type(config).__name__} for sweep")
        lines = [f"{key}={value}" for key, value in config.parameters.items()]
        in_file = {each.get_key_element(): each for each in self._parser.parse_overrides(lines)}
        for each in in_file.values():
            if each.is_hydra_override():
                raise InputError(f"sweep.parameters: {each.key_or_group} is no key of a job")
        return Swept(config, in_file | given)

    def distinct(
        self, combinations: Iterable[tuple[str, ...]], swept_keys: set[str]
    ) -> list[tuple[str, ...]]:
        """Of those that differ only in options without effect, the first."""
        several = list(combinations)
        if not swept_keys & COUNTS.keys():
            return several
        found: dict[tuple[str, ...], tuple[str, ...]] = {}
        for overrides in several:
            idle = without_effect(flat(config_values(self.compose(overrides))))
            found.setdefault(tuple(o for o in overrides if key_of(o) not in idle), overrides)
        if len(found) < len(several):
            print(f"{len(several) - len(found)} jobs would differ only in options without effect")
        return list(found.values())

    def job(self, overrides: Sequence[str], swept_keys: set[str]) -> Job:
        """The job of a list of overrides; they are named by those that are swept."""
        config = self.compose(overrides)
        if config.name is not None and "name" not in swept_keys:
            # a name of its own, or all jobs would be in one folder
            overrides = named_in_sweep(config.name, overrides)
            config = self.compose(overrides)
        several = [text for text in overrides if text.partition("=")[0] in swept_keys]
        return Job(
            overrides=tuple(overrides),
            folder=run_folder(config, overrides),
            fingerprint=fingerprint(config_values(config)),
            seed=config.seed,
            label=", ".join(several or overrides) or "default",
        )


def combinations(overrides: dict[str, Override]) -> Iterator[tuple[str, ...]]:
    """Every combination of the values, the last key varying fastest.

    Raises:
        InputError: a key has a range of real numbers.
    """
    return itertools.product(*_values_by_key(overrides).values())


def one_at_a_time(overrides: dict[str, Override]) -> Iterator[tuple[str, ...]]:
    """The first values of all keys, then each other value beside the first ones of the others.

    Each of these has every seed. Errors are those of `combinations`.
    """
    by_key = _values_by_key(overrides)
    seeds = [{"seed": each} for each in by_key.pop("seed", [])] or [{}]
    first = {key: each[0] for key, each in by_key.items()}
    others = ((key, value) for key, each in by_key.items() for value in each[1:])
    for setting in (first, *(first | {key: value} for key, value in others)):
        yield from (tuple((setting | seed).values()) for seed in seeds)


def _values_by_key(overrides: dict[str, Override]) -> dict[str, list[str]]:
    for key, override in overrides.items():
        if override.is_sweep_override() and not override.is_discrete_sweep():
            raise InputError(
                f"{override.input_line}: a grid needs single values of {key}; "
                "sweep.sampler=tpe or random searches in ranges"
            )
    return {key: values(override) for key, override in overrides.items()}


def values(override: Override) -> list[str]:
    """An override for each of its values."""
    if not override.is_sweep_override():
        return [override.input_line or ""]
    key = override.get_key_element()
    return [f"{key}={value}" for value in override.sweep_string_iterator()]


def refuse_shared_folders(jobs: Sequence[Job]) -> None:
    """Two jobs in one folder would be one job.

    Raises:
        InputError: naming two of them.
    """
    seen: dict[object, Job] = {}
    for job in jobs:
        other = seen.setdefault(job.folder, job)
        if other is not job:
            raise InputError(
                f"{other.label} and {job.label} would be in one folder, {job.folder}: values "
                "given twice, or keys that do not name a run; sweep over name=… as well"
            )
