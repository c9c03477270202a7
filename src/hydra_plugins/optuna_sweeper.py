"""A Hydra sweeper that searches with Optuna 5, and resumes.

    python app.py -m hydra/sweeper=optuna hydra.sweeper.n_trials=30 'lr=tag(log,interval(1e-4,1e-2))' 'depth=range(1,4)'

Works with any Hydra application that returns a number (or several, with a list of directions), and with any
launcher. The study is in a database, by default SQLite in the folder of the sweep. The same command again goes
on: trials that were running are run again with their parameters, in their folders, and `n_trials` is the total.
Commands that run at the same time share the trials. `interval` is a real number, `int(interval(a,b))` and `range`
(its end excluded) a whole one, ``tag(log,…)`` puts it on a logarithmic scale, and a list of values is a choice.
"""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from hydra.utils import instantiate
from omegaconf import MISSING, DictConfig, OmegaConf

from hydra_plugins.subprocess_launcher import write_results


@dataclass
class OptunaSweeperConf:
    """Settings of the sweeper."""

    _target_: str = "hydra_plugins.optuna_sweeper.OptunaSweeper"
    _recursive_: bool = False
    defaults: list[Any] = field(default_factory=lambda: [{"sampler": "tpe"}])
    sampler: Any = MISSING  # any of Optuna's, by _target_; the number of trials is added to its seed
    params: Any = None  # the space, by key, in Hydra's grammar; sweeps on the command line add to it and win
    n_trials: int = 20  # of the study in all, over every command that works on it
    n_jobs: int = 1  # trials that are proposed and launched together
    direction: Any = None  # minimize (also null) or maximize; a list for several objectives
    storage: str | None = None  # address of Optuna's database; null: optuna.db in the folder of the sweep
    study_name: str | None = None  # null: the name of the application
    max_failure_rate: float = 0.0  # of n_jobs; more end the command, and are run again by the next one


STORE = ConfigStore.instance().store
STORE(group="hydra/sweeper", name="optuna", node=OptunaSweeperConf, provider="optuna_sweeper")
for short, target in (("tpe", "TPESampler"), ("random", "RandomSampler"), ("cmaes", "CmaEsSampler")):
    STORE(short, {"_target_": f"optuna.samplers.{target}", "seed": 1}, "hydra/sweeper/sampler")


class OptunaSweeper(Sweeper):
    """The sweeper above."""

    def __init__(self, **settings: Any) -> None:
        self.settings = SimpleNamespace(**settings)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what `sweep` needs."""
        self.config, self.context = config, hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """Run trials until the study has `n_trials`, and write its results."""
        import optuna
        from filelock import FileLock

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        settings = self.settings
        folder = Path(self.config.hydra.sweep.dir).absolute()
        (folder / ".trials").mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, folder / "multirun.yaml")
        keys, space, fixed = self.space(arguments)
        url = settings.storage or f"sqlite:///{folder}/optuna.db"
        direction = settings.direction or "minimize"
        directions = [direction] if isinstance(direction, str) else list(direction)
        with FileLock(folder / ".trials" / "study.lock"):
            study = optuna.create_study(
                study_name=settings.study_name or self.config.hydra.job.name, storage=url,
                directions=directions, load_if_exists=True,
            )  # fmt: skip
            if settings.storage is None or "folder" not in study.user_attrs:
                study.set_user_attr("folder", str(folder))  # of the command that began, whose locks all use
        batch: list[Any] = [None]
        locks = Path(study.user_attrs["folder"]) / ".trials"
        while batch:
            with ExitStack() as held:
                with FileLock(locks / "study.lock"):
                    batch = self.batch(study, space, locks, held)
                jobs = [[*fixed, *(f"{keys[k]}={trial.params[k]}" for k in space)] for trial in batch]
                returned = self.launcher.launch(jobs, initial_job_idx=batch[0].number) if batch else []
                for job in returned:
                    refuse_no_number(job)
                failed = [job for job in returned if job.status != JobStatus.COMPLETED]
                ends = len(failed) > settings.max_failure_rate * settings.n_jobs
                with FileLock(locks / "study.lock"):
                    for trial, job in zip(batch, returned, strict=True):
                        if job.status == JobStatus.COMPLETED:
                            study.tell(trial.number, job.return_value)
                        elif not ends:
                            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
                _ = failed[0].return_value if ends else None  # raises its error
        rows = [{"trial": t.number, **t.params, "result": t.values[0] if len(t.values or []) == 1 else t.values,
                 "status": t.state.name.lower()} for t in study.trials]  # fmt: skip
        best = [{"trial": t.number, "params": t.params, "values": t.values} for t in study.best_trials]
        with FileLock(locks / "study.lock"):
            write_results(folder, rows, "trial")
            OmegaConf.save({"name": "optuna", "solutions": best}, folder / "optimization_results.yaml")
        for each in best[:5]:
            print(f"best        trial {each['trial']}:", *(f"{k}={v}" for k, v in each["params"].items()))

    def batch(self, study: Any, space: dict[str, Any], locks: Path, held: ExitStack) -> list[Any]:
        """Return the next trials, whose locks are held: those that a kill left running, else new ones."""
        from filelock import FileLock, Timeout
        from optuna.trial import TrialState

        settings, batch = self.settings, []
        trials = study.get_trials(deepcopy=False)
        known = sum(not space.keys() - trial.params.keys() for trial in trials)
        for trial in trials:
            follows = not batch or trial.number == batch[-1].number + 1  # so are jobs numbered
            if trial.state == TrialState.RUNNING and follows and len(batch) < settings.n_jobs:
                with suppress(Timeout):  # another command runs it; a kill frees the lock
                    held.enter_context(FileLock(locks / f"{trial.number}.lock", timeout=0))
                    batch.append(trial)
                    if space.keys() - trial.params.keys():  # killed while it was proposed
                        study.tell(batch.pop().number, state=TrialState.FAIL)
        seed = settings.sampler.get("seed")  # shifted, so that a kill changes no proposal
        shifted = {} if seed is None else {"seed": seed + known}
        study.sampler = instantiate(settings.sampler, **shifted)
        for _ in range(0 if batch else min(settings.n_jobs, settings.n_trials - known)):
            trial = study.ask(space)  # a new one, or one of the user's study.enqueue_trial
            if batch and trial.number != batch[-1].number + 1:
                break  # the next batch begins with it
            batch.append(trial)
            held.enter_context(FileLock(locks / f"{trial.number}.lock"))
        return batch

    def space(self, arguments: Sequence[str]) -> tuple[dict[str, str], dict[str, Any], list[str]]:
        """Return the key to override and Optuna's distribution by name, and the overrides that all trials share."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        def distribution(override: Override) -> Any:
            value: Any = override.value()
            if not isinstance(value, IntervalSweep | RangeSweep):
                return CategoricalDistribution(list(override.sweep_string_iterator()))
            is_range = isinstance(value, RangeSweep)
            numbers = list(value.range()) if is_range else [value.start, value.end]
            whole = all(isinstance(each, int) for each in numbers)
            step = value.step if is_range else 1 if whole else None
            made = IntDistribution if whole else FloatDistribution
            return made(numbers[0], numbers[-1], log="log" in value.tags, step=step)

        parser = OverridesParser.create(config_loader=self.context.config_loader)
        lines = [f"{key}={value}" for key, value in (self.settings.params or {}).items() if value is not None]
        parsed = {each.key_or_group: each for each in parser.parse_overrides([*lines, *arguments])}
        sweeps = {key: each for key, each in parsed.items() if each.is_sweep_override()}
        keys = {key: each.get_key_element() for key, each in sweeps.items()}
        space = {key: distribution(each) for key, each in sweeps.items()}
        return keys, space, [each.input_line for key, each in parsed.items() if key not in sweeps]


def refuse_no_number(job: JobReturn) -> None:
    """Count a job as failed whose result is no finite number."""
    if job.status == JobStatus.COMPLETED:
        values = job.return_value if isinstance(job.return_value, list) else [job.return_value]
        if not all(isinstance(value, int | float) and isfinite(value) for value in values):
            error = HydraException(f"{' '.join(job.overrides or ())}: its result is {job.return_value}")
            job.status, job.return_value = JobStatus.FAILED, error
