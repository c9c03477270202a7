"""A Hydra sweeper that searches with Optuna 5, and resumes.

    python app.py -m hydra/sweeper=optuna hydra.sweeper.n_trials=30 'lr=tag(log,interval(1e-4,1e-2))' 'depth=range(1,4)'

Works with any Hydra application that returns a number (or several, with a list of directions), and with any
launcher. The study is in a database, by default SQLite in the folder of the sweep. The same command again goes
on: trials that were running are run again with their parameters, in their folders, and `n_trials` is the total.
Commands that run at the same time share the trials. `interval` is a real number, `int(interval(a,b))` and
`range` (its end excluded, as in Hydra's grammar) a whole one, on a logarithmic scale with ``tag(log,…)``; a list
of values is a choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.core.plugins import Plugins
from hydra.core.utils import JobStatus
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from hydra.utils import instantiate
from omegaconf import MISSING, DictConfig, OmegaConf

from hydra_plugins.subprocess_launcher import write_results


@dataclass
class OptunaSweeperConf:
    """Settings of the sweeper.

    Attributes:
        sampler: Any of Optuna's, by `_target_`; the number of trials is added to its seed, so that a search that
            was interrupted proposes what an undisturbed one does.
        params: The space, by key, in Hydra's grammar; sweeps on the command line add to it and win.
        n_trials: Of the study in all, over every command that works on it.
        n_jobs: Trials that are proposed and launched together.
        direction: minimize or maximize; a list for several objectives.
        storage: Address of Optuna's database; null: optuna.db in the folder of the sweep.
        study_name: null: the name of the application.
        max_failure_rate: Of the trials launched together; more end the command with the error of the first,
            and are run again by the next one.
        trial_key: Key that is set to the trial's number, for applications that report to Optuna themselves.
    """

    _target_: str = "hydra_plugins.optuna_sweeper.OptunaSweeper"
    _recursive_: bool = False
    defaults: list[Any] = field(default_factory=lambda: [{"sampler": "tpe"}])
    sampler: Any = MISSING
    params: Any = None
    n_trials: int = 20
    n_jobs: int = 1
    direction: Any = "minimize"
    storage: str | None = None
    study_name: str | None = None
    max_failure_rate: float = 0.0
    trial_key: str | None = None


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
        from filelock import FileLock, Timeout

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        settings, fail = self.settings, optuna.trial.TrialState.FAIL
        folder = Path(self.config.hydra.sweep.dir).absolute()
        (folder / ".trials").mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, folder / "multirun.yaml")
        keys, space, fixed = self.space(arguments)
        url = settings.storage or f"sqlite:///{folder}/optuna.db"
        options = {"connect_args": {"timeout": 100}} if url.startswith("sqlite") else {}
        directions = [settings.direction] if isinstance(settings.direction, str) else list(settings.direction)
        with FileLock(folder / ".trials" / "study.lock"):
            study = optuna.create_study(
                storage=optuna.storages.RDBStorage(url, engine_kwargs=options), directions=directions,
                study_name=settings.study_name or self.config.hydra.job.name, load_if_exists=True,
            )  # fmt: skip
            home = study.user_attrs.get("folder") if settings.storage else None
            study.set_user_attr("folder", home or str(folder))
        locked = Path(home or folder) / ".trials"  # of the command that began the study
        while True:
            batch: list[Any] = []
            locks: list[FileLock] = []
            with FileLock(locked / "study.lock"):
                trials = study.get_trials(deepcopy=False)
                known = [not space.keys() - trial.params.keys() for trial in trials]
                sampler = OmegaConf.to_container(settings.sampler)
                if sampler.get("seed") is not None:
                    sampler["seed"] += sum(known)
                study.sampler = instantiate(sampler)
                for trial, complete in zip(trials, known, strict=True):
                    follows = (
                        not batch or trial.number == batch[-1].number + 1
                    )  # as the launcher numbers jobs
                    if trial.state.is_finished() or not follows or len(batch) == settings.n_jobs:
                        continue
                    lock = FileLock(locked / f"{trial.number}.lock", timeout=0)  # freed by a kill
                    try:
                        lock.acquire()
                    except Timeout:  # another command runs it
                        continue
                    if not complete:  # killed while it was proposed
                        study.tell(trial.number, state=fail)
                        continue
                    batch.append(trial)
                    locks.append(lock)
                if not batch:
                    num = max(0, min(settings.n_jobs, settings.n_trials - sum(known)))
                    batch = [study.ask(space) for _ in range(num)]
                    locks = [FileLock(locked / f"{trial.number}.lock") for trial in batch]
                    for lock in locks:
                        lock.acquire()
            if not batch:
                break
            jobs = [[*fixed, *(f"{keys[name]}={trial.params[name]}" for name in space)] for trial in batch]
            for job, trial in zip(jobs if settings.trial_key else [], batch, strict=False):
                job.append(f"{settings.trial_key}={trial.number}")
            returned = self.launcher.launch(jobs, initial_job_idx=batch[0].number)
            failed = [job for job in returned if job.status != JobStatus.COMPLETED]
            too_many = len(failed) > settings.max_failure_rate * len(batch)
            for trial, job in zip(batch, returned, strict=True):
                if job.status == JobStatus.COMPLETED:
                    study.tell(trial.number, job.return_value)
                elif not too_many:
                    study.tell(trial.number, state=fail)
            for lock in locks:
                lock.release()
            if too_many:
                _ = failed[0].return_value  # raises its error
        rows = [{"trial": t.number, **t.params, "result": t.values[0] if len(t.values or []) == 1 else t.values,
                 "status": t.state.name.lower()} for t in study.trials]  # fmt: skip
        write_results(folder, rows, "trial")
        best = [{"trial": t.number, "params": t.params, "values": t.values} for t in study.best_trials]
        OmegaConf.save({"name": "optuna", "solutions": best}, folder / "optimization_results.yaml")
        for each in best[:5]:
            print(
                f"best        trial {each['trial']}: {' '.join(f'{k}={v}' for k, v in each['params'].items())}"
            )

    def space(self, arguments: Sequence[str]) -> tuple[dict[str, str], dict[str, Any], list[str]]:
        """Return the key to override and Optuna's distribution by name, and the overrides that all trials share."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        def distribution(override: Override) -> Any:
            value = override.value()
            if isinstance(value, IntervalSweep):
                low, high, step = value.start, value.end, None
            elif isinstance(value, RangeSweep):
                numbers = list(value.range())
                low, high, step = numbers[0], numbers[-1], value.step
            else:
                return CategoricalDistribution(list(override.sweep_string_iterator()))
            if all(isinstance(each, int) for each in (low, high, step or 1)):
                return IntDistribution(low, high, log="log" in value.tags, step=step or 1)
            return FloatDistribution(low, high, log="log" in value.tags, step=step)

        lines = [f"{key}={value}" for key, value in (self.settings.params or {}).items() if value is not None]
        parser = OverridesParser.create(config_loader=self.context.config_loader)
        parsed = {each.key_or_group: each for each in parser.parse_overrides([*lines, *arguments])}
        sweeps = {key: each for key, each in parsed.items() if each.is_sweep_override()}
        fixed = [each.input_line for key, each in parsed.items() if key not in sweeps]
        keys = {key: each.get_key_element() for key, each in sweeps.items()}
        return keys, {key: distribution(each) for key, each in sweeps.items()}, fixed
