"""A Hydra sweeper that searches with Optuna 5, knows about chance, prunes, and resumes.

    python app.py -m hydra/sweeper=optuna hydra.sweeper.n_trials=30 'lr=tag(log,interval(1e-4,1e-2))' 'depth=range(1,4)'

Works with any Hydra application that returns a number (or several, with a list of directions), and with any
launcher. `interval` is a real number, `int(interval(a,b))` and `range` (its end excluded) a whole one, ``tag(log,…)``
puts it on a logarithmic scale, and a list of values is a choice.

A trial is a setting. With ``hydra.sweeper.seeds=3`` it is run with up to three seeds, its value is the mean, and
settings that are clearly worse get no further seeds (`hydra_plugins.hydra_optuna_racing_sweeper._racing`). With ``hydra/sweeper/pruner=median``
or ``halving`` the first run of a setting is ended early if the values that it reports are worse than those of
others (`hydra_plugins.hydra_subprocess_launcher.report`); then the setting is out. A mean is always that of all runs of
a setting, none of which was ended early or failed.

The study is in a database, by default SQLite in the folder of the sweep; the runs of its trials are in its attributes
``run N``. The same command again goes on: runs that were running are run again, in their folders, and `n_trials` is
the total. Commands that run at the same time share the runs.
"""

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import partial
from itertools import islice, takewhile
from math import ceil, isfinite, isnan, nan
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from threading import Lock
from types import SimpleNamespace
from typing import Any

import hydra.utils
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import CompactHydraException, HydraException
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from hydra.utils import instantiate
from omegaconf import MISSING, DictConfig, ListConfig, OmegaConf

from hydra_plugins.hydra_optuna_racing_sweeper._racing import next_settings, verdict
from hydra_plugins.hydra_subprocess_launcher import (
    beside,
    ended_early,
    finished_jobs,
    locked,
    metric_of,
    name_of_result,
    print_table,
    reports_in,
    write_results,
)


@dataclass
class OptunaRacingSweeperConf:
    """Settings of the sweeper."""

    _target_: str = "hydra_plugins.hydra_optuna_racing_sweeper.optuna_racing_sweeper.OptunaRacingSweeper"
    _recursive_: bool = False
    defaults: list[Any] = field(default_factory=lambda: [{"sampler": "tpe"}, {"pruner": "none"}])
    sampler: Any = MISSING  # any of Optuna's, by _target_; the number of trials is added to its seed
    pruner: Any = MISSING  # any of Optuna's, by _target_, for the first run of each setting
    params: Any = None  # the space, by key, in Hydra's grammar; sweeps on the command line add to it and win
    enqueue: Any = None  # settings that come first: a list of values by key; of a key left out, the sampler's
    start_from: Any = None  # folder of a grid, or several, whose finished runs are taken over
    n_trials: int = 20  # settings of the study in all, over every command that works on it
    n_jobs: int = 1  # runs that are launched together
    seeds: Any = None  # the maximum number of seeds of a setting, or a list of them; null: the application's
    seeds_key: str = "seed"  # key of the application that is set to a seed
    max_runs: int | None = None  # no further seeds once the study has so many runs; null: no limit
    direction: Any = None  # minimize (also null) or maximize; a list for several objectives
    storage: str | None = None  # address of Optuna's database; null: optuna.db in the folder of the sweep
    study_name: str | None = None  # null: the name of the application
    max_failure_rate: float = 0.0  # of n_jobs; more end the command, and are run again by the next one


STORE = ConfigStore.instance().store
STORE(group="hydra/sweeper", name="optuna", node=OptunaRacingSweeperConf, provider="optuna_racing_sweeper")
for short, target in (("tpe", "TPESampler"), ("random", "RandomSampler"), ("cmaes", "CmaEsSampler"),
                      ("grid", "BruteForceSampler")):  # fmt: skip
    STORE(short, {"_target_": f"optuna.samplers.{target}", "seed": 1}, "hydra/sweeper/sampler")
STORE("none", {"_target_": "optuna.pruners.NopPruner"}, "hydra/sweeper/pruner")
MEDIAN = {"_target_": "optuna.pruners.MedianPruner", "n_startup_trials": 5, "n_warmup_steps": 0}
STORE("median", MEDIAN, "hydra/sweeper/pruner")
HALVING = {
    "_target_": "optuna.pruners.SuccessiveHalvingPruner",
    "min_resource": "auto",
    "reduction_factor": 4,
}
STORE("halving", HALVING, "hydra/sweeper/pruner")

PROPOSALS = 50
"""Number of proposals in a row that are known settings after which the space counts as exhausted."""


@dataclass
class Run:
    """A run of a setting.

    Attributes:
        number: Its number, and that of its job.
        trial: Number of the setting's trial.
        seed: Its seed; None: the application's.
        status: running, complete, pruned or failed.
        values: What it returned.
        reports: The values that it reported, as pairs of step and value, up to the one at which it was ended.
    """

    number: int
    trial: int
    seed: Any = None
    status: str = "running"
    values: list[float] | None = None
    reports: list[tuple[int, float]] = field(default_factory=list)


class OptunaRacingSweeper(Sweeper):
    """The sweeper above."""

    config: DictConfig
    launcher: Any

    def __init__(self, **settings: Any) -> None:
        self.settings = SimpleNamespace(**settings)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what `sweep` needs."""
        self.config, self.context = config, hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """Run settings until the study has `n_trials` and it is decided which is best, and write the results."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        settings = self.settings
        direction = settings.direction or "minimize"
        directions: list[Any] = [direction] if isinstance(direction, str) else list(direction)
        refuse_senseless(settings, directions)
        keys, space, fixed = self.space(arguments)
        seeds = self.seeds(directions, space, fixed)
        rehearse(settings, directions, space)
        enqueued = self.enqueued(space)

        def job(params: Mapping[str, Any], seed: Any) -> list[str]:
            own = [] if seed is None else [f"{settings.seeds_key}={seed}"]
            return [*fixed, *(f"{keys[k]}={params[k]}" for k in space), *own]

        folder = Path(self.config.hydra.sweep.dir).absolute()
        (folder / ".trials").mkdir(parents=True, exist_ok=True)
        with locked(folder / ".trials" / "study.lock"):
            storage = settings.storage or sqlite(folder / "optuna.db")
            study = opened(settings.study_name or self.config.hydra.job.name, storage, directions)
            if settings.storage is None or "folder" not in study.user_attrs:
                study.set_user_attr("folder", str(folder))  # of the command that began, whose locks all use
            search = Search(study, space, seeds, settings, enqueued)
            own_seed = OmegaConf.select(self.config, settings.seeds_key, throw_on_missing=False)
            search.may_repeat = seeds == [None] and own_seed is None
            search.refuse_another(directions, metric=name_of_result([self.config]),
                                  overrides=" ".join(sorted(fixed)))  # fmt: skip
            base: Any = OmegaConf.to_container(OmegaConf.create(self.text_of(self.config)))
            search.refuse_other_base(base)
            self.take_over(search, job)
            OmegaConf.save(self.config, folder / "multirun.yaml")
        locks = Path(study.user_attrs["folder"]) / ".trials"
        if hasattr(self.launcher, "in_all") and len(seeds) == 1:
            self.launcher.in_all = settings.n_trials
        goes_on = True
        while goes_on:
            with ExitStack() as held:
                with locked(locks / "study.lock"):
                    batch = search.batch(locks, held)
                    others = [] if batch else [run for run in search.runs() if run.status == "running"]
                goes_on = bool(batch or others)
                if batch:
                    params = search.params()
                    self.launch(search, batch, [job(params[run.trial], run.seed) for run in batch], locks)
                elif others:
                    print(f"waits for job {others[0].number}, which another command runs", flush=True)
                    held.enter_context(locked(locks / f"{others[0].number}.lock"))
        with locked(locks / "study.lock"):
            rows = search.rows(metric_of(self.config))
            best = [{"trial": t.number, "params": t.params, "values": t.values} for t in study.best_trials]
            write_results(folder, rows)
            print_table(rows, name_of_result([self.config]))
            if rows:
                print(f"results     {folder / 'results.csv'}", flush=True)
            OmegaConf.save({"name": "optuna", "solutions": best}, folder / "optimization_results.yaml")
        print(search.sentence(), flush=True)

    def launch(self, search: "Search", batch: Sequence[Run], jobs: list[list[str]], locks: Path) -> None:
        """Launch runs and write how they ended; raise the error of one that failed, if too many did."""
        if hasattr(self.launcher, "judge"):
            self.launcher.judge = search.judges(batch)
        returned = self.launcher.launch(jobs, initial_job_idx=batch[0].number)
        for job in returned:
            take_numbers(job, len(search.study.directions))
        failed = [job for job in returned if job.status != JobStatus.COMPLETED
                  and not ended_early(job)]  # fmt: skip
        ends = len(failed) > self.settings.max_failure_rate * self.settings.n_jobs
        with locked(locks / "study.lock"):
            for run, job in zip(batch, returned, strict=True):
                if job.status == JobStatus.COMPLETED:
                    run.status, run.values = "complete", job.return_value
                elif ended_early(job):
                    run.status = "pruned"
                elif not ends:
                    run.status = "failed"
                search.write(run)
            search.settle()
        if ends:
            print(f"failed: {' '.join(failed[0].overrides or ())}; hydra.sweeper.max_failure_rate=1 goes on without this "
                  "setting, the same command alone runs it again", flush=True)  # fmt: skip
            _ = failed[0].return_value  # raises its error

    def seeds(self, directions: Sequence[str], space: dict[str, Any], fixed: Sequence[str]) -> list[Any]:
        """Return the seeds of a setting, in order.

        Raises:
            CompactHydraException: Seeds or pruner do not fit the other settings.
        """
        settings = self.settings
        given = settings.seeds
        if isinstance(given, int) and not isinstance(given, bool):
            given = list(range(1, given + 1))
        seeds = [None] if given is None else list(given) if isinstance(given, list | ListConfig) else []
        if not seeds or len(set(map(str, seeds))) < len(seeds):
            raise CompactHydraException(
                f"hydra.sweeper.seeds={settings.seeds}: write a number from 1 on, or a list of seeds"
            )
        if len(seeds) > 1 and len(directions) > 1:
            raise CompactHydraException(
                "hydra.sweeper.seeds: needs one direction; a race of several has no best"
            )
        for each in [] if given is None else [*space, *fixed]:
            if each.partition("=")[0].lstrip("+") == settings.seeds_key:
                what = f"{each} is swept over" if each in space else f"{each} is given"
                raise CompactHydraException(f"{what}; leave it out, hydra.sweeper.seeds sets it in every run")
        if not settings.pruner["_target_"].endswith("NopPruner"):
            if len(directions) > 1:
                raise CompactHydraException(
                    "hydra/sweeper/pruner: needs one direction; Optuna prunes by one value"
                )
            if not hasattr(self.launcher, "judge"):
                raise CompactHydraException(
                    "hydra/sweeper/pruner: needs hydra/launcher=subprocess, which ends jobs"
                )
        return seeds

    def enqueued(self, space: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the settings of `enqueue`.

        Raises:
            CompactHydraException: One of them is not in the space.
        """
        found = []
        for each in self.settings.enqueue or ():
            try:
                found.append(self.values_of(each, space))
            except (AttributeError, ValueError, HydraException) as error:
                raise CompactHydraException(
                    f"hydra.sweeper.enqueue: {each}: {words_of(error)}; write [{{KEY:VALUE,…}},…] with values of the space"
                ) from error
        return found

    def values_of(self, given: Mapping[str, Any], space: Mapping[str, Any]) -> dict[str, Any]:
        """Return values by key, as overrides have them, as Optuna has them.

        Raises:
            HydraException: A value is none in Hydra's grammar.
            ValueError: A key is not searched, or a value is not in the space.
        """
        from optuna.distributions import CategoricalDistribution
        from optuna.trial import create_trial

        parser = OverridesParser.create(config_loader=self.context.config_loader)
        lines = [f"{key}={'null' if value is None else value}" for key, value in given.items()]
        values: dict[str, Any] = {}
        for override in parser.parse_overrides(lines):
            key = override.get_key_element().lstrip("+~")
            if key not in space:
                raise ValueError(f"{key} is not searched")
            is_choice = isinstance(space[key], CategoricalDistribution)
            value = override.get_value_element_as_str() if is_choice else override.value()
            values[key] = space[key].to_external_repr(space[key].to_internal_repr(value))
        # raises an error if one is not contained
        create_trial(value=0.0, params=values, distributions={key: space[key] for key in values})
        return values

    def take_over(self, search: "Search", job: Callable[[Mapping[str, Any], Any], list[str]]) -> None:
        """Take over the finished jobs in the folders of `start_from` that have the configuration of a run of this search.

        Args:
            search: The study with its space.
            job: From a setting and a seed to the overrides of the run.

        Raises:
            CompactHydraException: There is no such folder, or new jobs would overwrite those in it.
        """
        given, found, settings = self.settings.start_from, dict[str, Any](), list[dict[str, Any]]()
        for path in map(Path, [given] if isinstance(given, str) else given or ()):
            if not path.is_dir():
                raise CompactHydraException(f"hydra.sweeper.start_from={path}: there is no such folder")
            for folder, overrides, config, result in finished_jobs(path):
                if folder.name.isdecimal() and folder.parent.samefile(self.config.hydra.sweep.dir):
                    raise CompactHydraException(f"hydra.sweeper.start_from={path}: new jobs would overwrite its numbered ones; "
                                                "give another hydra.sweep.dir")  # fmt: skip
                end = JobReturn(status=JobStatus.COMPLETED)
                end.return_value = result
                take_numbers(end, len(search.study.directions))
                typed = dict(each.lstrip("+").partition("=")[::2] for each in overrides)
                with suppress(ValueError, HydraException):  # outside of the space
                    values = {key: typed.get(key, OmegaConf.select(config, key)) for key in search.space}
                    params = self.values_of(values, search.space)
                    if end.status == JobStatus.COMPLETED:
                        settings += [] if params in settings else [params]
                        found[self.text_of(config)] = end.return_value, reports_in(folder)

        def finished(params: Mapping[str, Any], seed: Any) -> Any:
            config = self.context.config_loader.load_sweep_config(self.config, job(params, seed))
            return found.get(self.text_of(config))

        taken = sum(search.take_over(params, partial(finished, params)) for params in settings)
        if taken:
            print(f"takes over {taken} finished run{'' if taken == 1 else 's'}", flush=True)

    def text_of(self, config: Any) -> str:
        """Return an application's configuration without Hydra's, and without keys on which its folders do not depend."""
        plain = OmegaConf.create(OmegaConf.to_container(config, resolve=False, enum_to_str=True))
        excluded = self.config.hydra.job.config.override_dirname.exclude_keys
        for key in ("hydra", *(each for each in excluded if each != "metric")):
            OmegaConf.update(plain, key, None, force_add=True)
        return OmegaConf.to_yaml(plain, sort_keys=True)

    def space(self, arguments: Sequence[str]) -> tuple[dict[str, str], dict[str, Any], list[str]]:
        """Return the key to override and Optuna's distribution by name, and the overrides that all trials share.

        Raises:
            CompactHydraException: A range, an interval or a tag is none that is known, or nothing is searched.
        """
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        def distribution(override: Override) -> Any:
            value: Any = override.value()
            numbers: list[Any]
            refuse_tags(value)
            if isinstance(value, RangeSweep):
                ends = (value.start, value.stop, value.step)
                kind = int if all(isinstance(each, int) for each in ends) else float
                start, stop, by = (Decimal(str(each)) for each in ends)  # exact: 0.9, not 0.8999999999999999
                if not by or (count := ceil((stop - start) / by)) < 1:
                    raise ValueError("there is no number in this range")
                numbers = sorted(kind(each) for each in (start, start + (count - 1) * by))  # it may descend
                step = abs(value.step)
            elif isinstance(value, IntervalSweep):
                numbers, step = [value.start, value.end], None
            else:
                return CategoricalDistribution(list(override.sweep_string_iterator()))
            log = "log" in value.tags
            if all(isinstance(each, int) for each in numbers):
                return IntDistribution(numbers[0], numbers[-1], log=log, step=int(step or 1))
            return FloatDistribution(numbers[0], numbers[-1], log=log, step=step)

        def checked(override: Override) -> Any:
            try:
                return distribution(override)
            except (ValueError, ArithmeticError) as error:
                raise CompactHydraException(f"{override.input_line}: {error}") from error

        parser = OverridesParser.create(config_loader=self.context.config_loader)
        params = {key: value for key, value in (self.settings.params or {}).items() if value is not None}
        lists = {f"{key}={value}" for key, value in params.items() if isinstance(value, list | ListConfig)}
        overrides = parser.parse_overrides([*(f"{key}={value}" for key, value in params.items()), *arguments])
        # with the package: one group may be in two
        parsed = {each.get_key_element().lstrip("+~"): each for each in overrides}
        sweeps = {key: each for key, each in parsed.items() if each.is_sweep_override()}
        for each in parsed.values():
            if each.input_line in lists:
                key, _, value = str(each.input_line).partition("=")
                raise CompactHydraException(
                    f"hydra.sweeper.params: {key} has the list {value}, which is one value: write "
                    f"'choice({value[1:-1]})' to search it, or '{value}' in quotes"
                )
        if not sweeps:
            raise CompactHydraException(
                "hydra/sweeper=optuna: there is nothing to search, each trial would be the same: give values to a key, "
                "such as 'KEY=interval(0,1)' or KEY=1,2, on the command line or in hydra.sweeper.params"
            )
        keys = {key: each.get_key_element() for key, each in sweeps.items()}
        space = {key: checked(each) for key, each in sweeps.items()}
        return keys, space, [str(each.input_line) for key, each in parsed.items() if key not in sweeps]


def by_key(config: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Return the values of a configuration, as text, by dotted key."""
    found: dict[str, str] = {}
    for name, value in config.items():
        found |= (
            by_key(value, f"{before}{name}.")
            if isinstance(value, dict) and value
            else {f"{before}{name}": str(value)}
        )
    return found


class Search:
    """A study whose trials are settings, and the decisions on their runs. All methods need the study's lock."""

    def __init__(self, study: Any, space: dict[str, Any], seeds: Sequence[Any], settings: SimpleNamespace,
                 enqueued: Sequence[dict[str, Any]] = ()):  # fmt: skip
        import optuna

        self.enqueued = enqueued
        self.study, self.space, self.seeds, self.settings = study, space, list(seeds), settings
        self.sign = -1 if study.directions[0] == optuna.study.StudyDirection.MINIMIZE else 1
        self.exhausted = False
        self.may_repeat = False  # a setting may have several trials, whose results differ
        self.judged: dict[int, Any] = {}  # first runs of the settings -> their trials in a study in memory
        if len(study.directions) == 1:
            self.firsts = optuna.create_study(  # Hyperband draws by the name
                study_name=study.study_name, direction=study.directions[0], pruner=made(settings.pruner)
            )

    def runs(self) -> list[Run]:
        """Return all runs, by number."""
        found = [Run(**v) for k, v in self.study.user_attrs.items() if k.startswith("run ")]
        return sorted(found, key=lambda run: run.number)

    def write(self, run: Run) -> None:
        """Write a run into the study."""
        self.study.set_user_attr(f"run {run.number}", asdict(run))

    def params(self) -> list[dict[str, Any]]:
        """Return the parameters of each setting."""
        return [trial.params for trial in self.study.get_trials(deepcopy=False)]

    def of_trials(self) -> dict[int, list[Run]]:
        """Return the runs of each setting."""
        found: dict[int, list[Run]] = {t.number: [] for t in self.study.get_trials(deepcopy=False)}
        for run in self.runs():
            found[run.trial].append(run)
        return found

    def refuse_another(self, directions: Sequence[str], **facts: Any) -> None:
        """Refuse to go on with a study of another search, and note in a new one what its search is.

        The bounds of a number may change, but for a grid.

        Raises:
            CompactHydraException: The study has another direction, space, metric, or other overrides.
        """
        is_grid = self.settings.sampler["_target_"].endswith("BruteForceSampler")

        def kind(distribution: Any) -> Any:
            is_number = hasattr(distribution, "log") and not is_grid
            return (type(distribution), distribution.log) if is_number else distribution

        def same(known: str, given: str) -> None:
            if known != given:
                raise CompactHydraException(
                    f"the study {self.study.study_name} has {known}, this command {given}: give what it has, or "
                    "another hydra.sweeper.study_name or folder"
                )

        known = [each.name.lower() for each in self.study.directions]
        same(*(f"the direction {' '.join(each)}" for each in (known, directions)))
        noted = self.study.user_attrs
        for name, given in facts.items():
            same(f"the {name} {noted.get(name, given) or 'none'}", f"the {name} {given or 'none'}")
        begun = {run.trial for run in self.runs()}
        for trial in self.study.get_trials(deepcopy=False):
            there = trial.distributions  # without a run: not all, if a kill came while it was proposed
            names = (
                self.space.keys() | there.keys()
                if trial.number in begun
                else self.space.keys() & there.keys()
            )
            for name in sorted(names):
                both = [there.get(name), self.space.get(name)]
                if kind(both[0]) != kind(both[1]):
                    same(*(f"{name} as {each}" if each else f"no {name}" for each in both))
        for name in facts.keys() - noted.keys():
            self.study.set_user_attr(name, facts[name])

    def refuse_other_base(self, config: dict[str, Any]) -> None:
        """Refuse to mix results of two configurations: note what the application's is, without overrides that vary.

        Raises:
            CompactHydraException: The study has results of another one.
        """
        given, known = by_key(config), self.study.user_attrs.get("configuration")
        has_results = any(run.status in ("complete", "pruned") for run in self.runs())
        if known is None or not has_results:
            self.study.set_user_attr("configuration", given)
            return
        for key in dict.fromkeys([*known, *given]):
            if key not in self.space and known.get(key) != given.get(key):
                raise CompactHydraException(
                    f"the study {self.study.study_name} has results with {key}={known.get(key)}, which is {given.get(key)} now: "
                    "restore it, or give another hydra.sweeper.study_name or folder"
                )

    def take_over(self, params: dict[str, Any], finished: Callable[[Any], Any]) -> int:
        """Note the finished runs of a setting with its next seeds as runs of the study; return their number.

        Args:
            params: The setting.
            finished: From a seed to the values and the reports of its run; None where there is none.
        """
        from optuna.trial import TrialState, create_trial

        trials = self.study.get_trials(deepcopy=False)
        number = next((trial.number for trial in trials if trial.params == params), len(trials))
        if number < len(trials) and trials[number].state != TrialState.RUNNING:
            return 0
        seeds = self.seeds[sum(run.trial == number for run in self.runs()) :]
        taken = [*takewhile(lambda each: each[1] is not None, ((seed, finished(seed)) for seed in seeds))]
        if taken and number == len(trials):
            self.study.add_trial(create_trial(
                state=TrialState.RUNNING, params=params, distributions=self.space
            ))  # fmt: skip
        for place, (seed, (values, reports)) in enumerate(taken, len(self.runs())):
            self.write(Run(place, number, seed, "complete", values, reports))
        return len(taken)

    def settle(self) -> None:
        """Tell the study what is decided: of settings with a run that was pruned or failed, and without a race."""
        from optuna.trial import TrialState

        runs = self.of_trials()
        for trial in self.study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
            ends = {run.status for run in runs[trial.number]}
            if self.space.keys() - trial.params.keys():  # killed while it was proposed
                self.study.tell(trial.number, state=TrialState.FAIL)
                if "fixed_params" in trial.system_attrs:
                    self.study.enqueue_trial(trial.system_attrs["fixed_params"])
            elif "failed" in ends:
                self.study.tell(trial.number, state=TrialState.FAIL)
            elif "pruned" in ends:
                self.study.tell(trial.number, state=TrialState.PRUNED)
            elif len(self.seeds) == 1 and "complete" in ends:
                self.study.tell(trial.number, runs[trial.number][0].values)

    def batch(self, locks: Path, held: ExitStack) -> list[Run]:
        """Return the next runs, whose locks are held: those that a kill left running, else new ones."""
        self.settle()
        batch: list[Run] = []
        runs = self.runs()
        for run in runs:
            follows = not batch or run.number == batch[-1].number + 1  # so are jobs numbered
            if run.status == "running" and follows and len(batch) < self.settings.n_jobs:
                with suppress(BlockingIOError):  # another command runs it; a kill frees the lock
                    held.enter_context(locked(locks / f"{run.number}.lock", wait=False))
                    batch.append(run)
        if batch:
            return batch
        for number, (trial, seed) in enumerate(islice(self.wanted(), self.settings.n_jobs), len(runs)):
            batch.append(Run(number, trial, seed))
            held.enter_context(locked(locks / f"{number}.lock"))
            self.write(batch[-1])
        if not batch and all(run.status != "running" for run in self.runs()):
            for trial, results in self.results(open_only=True).items():
                self.study.tell(trial, fmean(results))
        return batch

    def wanted(self) -> Iterator[tuple[int, Any]]:
        """Yield the next runs as setting and seed: the first ones of all settings, then those of the race."""
        from optuna.trial import TrialState

        begun = {run.trial for run in self.runs()}
        for trial in self.study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
            if trial.number not in begun:  # killed before its run began
                yield trial.number, self.seeds[0]
        while (number := self.propose()) is not None:
            yield number, self.seeds[0]
        runs = self.of_trials()
        if len(self.seeds) == 1 or any(r[0].status == "running" for r in runs.values() if r):
            return
        most = self.settings.max_runs
        left = (10**9 if most is None else most) - sum(map(len, runs.values()))
        results, is_open = self.results(), self.results(open_only=True)
        order = (
            [[*results][place] for place in next_settings(self.by_seed(results), len(self.seeds))]
            if results
            else []
        )
        unused = {t: self.seeds[len(runs[t]) :] for t in order if t in is_open}
        places = [(step, t) for t in unused for step in range(len(unused[t]))]
        for step, trial in islice(sorted(places, key=lambda p: p[0]), max(left, 0)):
            yield trial, unused[trial][step]

    def results(self, *, open_only: bool = False) -> dict[int, list[float]]:
        """Return the results of the settings of which no run was pruned or failed and one is complete, by trial.

        Args:
            open_only: Only of settings whose value the study has not been told.
        """
        from optuna.trial import TrialState

        trials = self.study.get_trials(deepcopy=False)
        found = {}
        for trial, runs in self.of_trials().items():
            values = [run.values[0] for run in runs if run.values]
            states = [TrialState.RUNNING] if open_only else [TrialState.RUNNING, TrialState.COMPLETE]
            if (
                values
                and trials[trial].state in states
                and {r.status for r in runs} <= {"complete", "running"}
            ):
                found[trial] = values
        return found

    def by_seed(self, trials: Iterable[int]) -> list[list[float]]:
        """Return the results of settings (rows) with each seed (columns), higher is better; NaN where there is none."""
        runs = self.of_trials()
        seeds = dict.fromkeys(str(run.seed) for run in self.runs() if run.values)
        found = [{str(run.seed): self.sign * run.values[0] for run in runs[t] if run.values} for t in trials]
        return [[each.get(seed, nan) for seed in seeds] for each in found]

    def propose(self) -> int | None:
        """Begin a setting of the user's study.enqueue_trial, of `enqueue`, or of the sampler; return its number, or None.

        The sampler sees a copy of the study in which a setting that is still open has the mean of its runs so far,
        and a run that was pruned its reports.
        """
        import optuna
        from optuna.trial import TrialState, create_trial

        trials = self.study.get_trials(deepcopy=False)
        known = sum(t.state != TrialState.WAITING and not self.space.keys() - t.params.keys() for t in trials)
        if known >= self.settings.n_trials or self.exhausted:
            return None
        if any(trial.state == TrialState.WAITING for trial in trials):
            return int(self.study.ask(self.space).number)
        seed = self.settings.sampler.get("seed")  # shifted, so that a kill changes no proposal
        shifted = {} if seed is None else {"seed": seed + known}
        copy = optuna.create_study(
            directions=self.study.directions, sampler=made(self.settings.sampler, **shifted)
        )
        results, runs = self.results(open_only=True), self.of_trials()
        for trial in trials:
            values = [fmean(results[trial.number])] if trial.number in results else trial.values
            state = TrialState.COMPLETE if trial.number in results else trial.state
            reports = runs[trial.number][0].reports if state == TrialState.PRUNED else ()
            copy.add_trial(create_trial(
                state=state, values=values, params=trial.params, distributions=trial.distributions,
                user_attrs=trial.user_attrs, system_attrs=trial.system_attrs, intermediate_values=dict(reports),
            ))  # fmt: skip
        for values in self.enqueued:
            if not any(values.items() <= trial.params.items() for trial in trials):
                copy.enqueue_trial(values)
                break
        # a sampler of whole grids proposes the settings again once it has proposed all
        may_repeat = self.may_repeat and not isinstance(
            copy.sampler, optuna.samplers.BruteForceSampler | optuna.samplers.GridSampler
        )
        for _ in range(PROPOSALS):
            number = copy.ask(self.space).number
            trial = copy.trials[number]
            if may_repeat or trial.params not in self.params():
                self.study.add_trial(create_trial(
                    state=TrialState.RUNNING, params=trial.params, distributions=trial.distributions,
                    system_attrs=trial.system_attrs,
                ))  # fmt: skip
                return len(trials)
            copy.add_trial(create_trial(
                state=TrialState.FAIL, params=trial.params, distributions=trial.distributions
            ))  # fmt: skip
        self.exhausted = True
        return None

    def judges(self, batch: Sequence[Run]) -> Any:
        """Return a function from the place of a run and its reports to whether it is to be ended.

        Only the first run of a setting is judged, by Optuna's pruner, against the first runs of the others: a
        further seed that was ended for its chance would make the setting's mean a better one. The judgment depends
        on the reports alone, not on when they are read. A run's reports are kept in it.
        """
        import optuna

        if len(self.study.directions) > 1:
            return None
        from optuna.trial import FrozenTrial

        firsts = {runs[0].number for runs in self.of_trials().values() if runs}
        for run in self.runs():
            trial = self.judged.get(run.number)
            if run.status == "running" or run.number not in firsts or isinstance(trial, FrozenTrial):
                continue
            if trial is None:  # of an earlier command
                trial = self.firsts.ask()
                for step, value in run.reports:
                    trial.report(value, step)
                    trial.should_prune()  # successive halving notes that it was asked
            state = {"pruned": "PRUNED", "failed": "FAIL", "complete": "COMPLETE"}[run.status]
            self.judged[run.number] = self.firsts.tell(
                trial, run.values, state=optuna.trial.TrialState[state]
            )
        trials = {run.number: self.firsts.ask() for run in batch if run.number in firsts}
        self.judged |= trials
        lock, ended = Lock(), set()
        for run in batch:
            run.reports = []

        def judge(place: int, reports: Sequence[tuple[int, float]]) -> bool:
            run = batch[place]
            with lock:
                for step, value in reports[len(run.reports) :]:
                    if run.number in ended:
                        break
                    run.reports.append((step, value))
                    if run.number in trials:
                        trials[run.number].report(value, step)
                        if trials[run.number].should_prune():
                            ended.add(run.number)
            return run.number in ended

        return judge

    def rows(self, metric: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the table of the settings, with the column of the application's metric."""
        rows, runs = [], self.of_trials()
        name = self.settings.study_name
        study = {} if name is None else {"study": name}
        for t in self.study.get_trials(deepcopy=False):
            values = [run.values[0] for run in runs[t.number] if run.values]
            own: dict[str, Any] = {key: t.params.get(key, value) for key, value in metric.items()}
            if self.seeds != [None]:
                own |= {"runs": len(runs[t.number]), "values": " ".join(map(str, values)),
                        "sd": stdev(values) if len(values) > 1 else None}  # fmt: skip
            result = t.values[0] if len(t.values or []) == 1 else t.values
            own |= {"result": result, "status": t.state.name.lower()}
            rows.append({"trial": t.number} | study | beside(t.params, own) | own)
        return rows

    def sentence(self) -> str:
        """Return which setting is best, how sure that is, and how many runs it took."""
        runs, params, results = self.runs(), self.params(), self.results()
        ends = {
            status: sum(run.status == status for run in runs) for status in ("pruned", "failed", "running")
        }
        took = f"{len(runs)} run{'' if len(runs) == 1 else 's'}" + "".join(
            f", {count} {status}" for status, count in ends.items() if count
        )

        def words(trial: int) -> str:
            return f"trial {trial}: " + " ".join(f"{k}={v}" for k, v in params[trial].items())

        if not results:
            return f"best        none; {took}"
        if len(self.study.directions) > 1:
            best_trials = self.study.best_trials
            lines = [f"best        {words(t.number)}" for t in best_trials[:5]]
            if left := len(best_trials) - len(lines):
                lines.append(f"            and {left} more: optimization_results.yaml")
            return "\n".join(lines)
        trials = [*results]
        found = verdict(self.by_seed(trials), len(self.seeds))
        best = trials[found.best]
        mean = f"{fmean(results[best]):.5g}"
        if len(results[best]) > 1:
            mean += f" ± {stdev(results[best]):.2g} with {len(results[best])} seeds"
        lines = [f"best        {words(best)}, {mean}; {took}"]
        if found.second is not None and len(self.seeds) > 1:
            second = words(trials[found.second])
            if not isnan(found.p):
                p = "p < 0.001" if found.p < 0.0005 else f"p = {found.p:.3f}"
                sure = f"{p} at any number of looks, up to {len(self.seeds)} seeds"
            elif any(len(each) > 1 for each in results.values()):
                sure = "with no variation between seeds"
            else:
                sure = "with too few seeds to compare"
            verb = "clearly better" if found.is_clear else "not clearly better"
            others = "all others, of which the nearest is " if found.is_clear and len(trials) > 2 else ""
            lines.append(f"            {verb} than {others}{second}: by {found.difference:.3g}, {sure}")
        return "\n".join(lines)


def refuse_senseless(settings: SimpleNamespace, directions: Sequence[Any]) -> None:
    """Raise CompactHydraException if a number or a direction has no meaning."""
    for key, least in (("n_jobs", 1), ("n_trials", 0), ("max_runs", 1)):
        given = getattr(settings, key)
        if given is not None and given < least:
            raise CompactHydraException(f"hydra.sweeper.{key}={given}: write a number from {least} on")
    if not 0 <= settings.max_failure_rate <= 1:
        raise CompactHydraException(
            f"hydra.sweeper.max_failure_rate={settings.max_failure_rate}: write a share from 0 to 1"
        )
    if not set(directions) <= {"minimize", "maximize"}:
        raise CompactHydraException(
            f"hydra.sweeper.direction={settings.direction}: write minimize or maximize, or a list of them"
        )


def refuse_tags(values: Any) -> None:
    """Raise ValueError if the values of a key have a tag without a meaning."""
    tags: set[str] = getattr(values, "tags", set())
    if unknown := sorted(tags - {"log"}):
        raise ValueError(
            f"the tag {unknown[0]} has no meaning: write tag(log,…) for a logarithmic scale, or leave it out"
        )
    if tags and not isinstance(values, RangeSweep | IntervalSweep):
        raise ValueError("a choice has no logarithmic scale: leave out the tag log, or write an interval")


def rehearse(settings: SimpleNamespace, directions: Sequence[Any], space: dict[str, Any]) -> None:
    """Make the pruner and the sampler, which proposes two settings of a study in memory; some fail at the second.

    Raises:
        CompactHydraException: One of them cannot be made, misses a package, or does not know this space.
    """
    import optuna
    from optuna.trial import create_trial

    def refused(what: str, error: Exception) -> CompactHydraException:
        return CompactHydraException(
            f"hydra.sweeper.{what}._target_={settings.__dict__[what]['_target_']}: {words_of(error)}; give "
            f"other arguments, another hydra/sweeper/{what} or another space"
        )

    try:
        made(settings.pruner)
    except Exception as error:
        raise refused("pruner", error) from error
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # the search itself warns
    try:
        trials: list[Any] = []
        for value in (0.0, 1.0):
            study = optuna.create_study(directions=directions, sampler=made(settings.sampler))
            study.add_trials(trials)
            number = study.ask(space).number
            trial = study.trials[number]
            trials.append(create_trial(values=[value] * len(directions), params=trial.params,
                                       distributions=trial.distributions, system_attrs=trial.system_attrs))  # fmt: skip
    except Exception as error:
        raise refused("sampler", error) from error
    finally:
        optuna.logging.set_verbosity(level)


def opened(name: str, address: str, directions: Sequence[Any]) -> Any:
    """Return the study of a database, which is begun if it is not there.

    Raises:
        CompactHydraException: There is no database at this address.
    """
    import optuna

    try:
        make_tables(address)
        return optuna.create_study(
            study_name=name, storage=address, directions=directions, load_if_exists=True
        )
    except Exception as error:  # of Optuna, SQLAlchemy or a driver
        shown = re.sub(r"(?<=://)([^/@]*):[^/@]*@", r"\1:…@", address)  # without a password
        raise CompactHydraException(
            f"hydra.sweeper.storage={shown}: {words_of(error)}; write the address of a database that can be opened, "
            "such as sqlite:////FOLDER/optuna.db of a folder that is there"
        ) from error


def words_of(error: BaseException) -> str:
    """Return what an error says, in a line: of one that another has caused, what that one says."""
    while isinstance(error, HydraException) and error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split("\n")[0].split()).rstrip(".") or type(error).__name__


def sqlite(path: Path) -> str:
    """Return the address of a SQLite database."""
    from sqlalchemy.engine import URL

    return URL.create("sqlite", database=str(path)).render_as_string()


def make_tables(address: str) -> None:
    """Make the tables of a SQLite database whose file is not there, all at once.

    Optuna makes them one by one. After a kill in the midst an index is missing, by which a study is made only once.
    """
    from optuna.storages import RDBStorage
    from sqlalchemy.engine import make_url

    url = make_url(address)
    path = Path(url.database or ":memory:")
    if (
        url.get_backend_name() != "sqlite"
        or path.exists()
        or not path.parent.is_dir()
        or ":" in path.name  # :memory:, file:…
    ):
        return
    with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        whole = Path(folder) / path.name
        storage = RDBStorage(sqlite(whole))
        storage.remove_session()
        storage.engine.dispose()
        with suppress(OSError):  # meanwhile another command has made it, or the file system has no links
            os.link(whole, path)


def made(node: Any, **options: Any) -> Any:
    """Return the sampler or pruner of a node; that Optuna may change it in the future is no news to a user."""
    from optuna.exceptions import ExperimentalWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        if hasattr(hydra.utils, "execution_whitelist"):  # from Hydra 1.4 on
            options["_execution_whitelist_"] = ["optuna.*", node._target_]
        return instantiate(node, **options)


def take_numbers(job: JobReturn, how_many: int) -> None:
    """Make the result of a job a list of numbers; count it as failed if there are not as many, or one is not finite."""
    if job.status == JobStatus.COMPLETED:
        result = job.return_value
        given = result if isinstance(result, list | tuple) else [result]
        values = [each.item() if getattr(each, "ndim", None) == 0 else each for each in given]  # numpy, torch
        if len(values) == how_many and all(
            isinstance(each, int | float) and isfinite(each) for each in values
        ):
            job.return_value = values
        else:
            wanted = (
                "a finite number" if how_many == 1 else f"{how_many} finite numbers, one for each direction"
            )
            words = f"{' '.join(job.overrides or ())}: its result is {result}; it must be {wanted}"
            job.status, job.return_value = JobStatus.FAILED, HydraException(words)
