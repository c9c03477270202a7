"""Jobs that a search proposes: Optuna's samplers and pruners over a study that processes share.

A trial is its parameters, and so a run folder, whose lock says whether somebody works at it. A
trial that is running in the study and has a free folder was left by a driver that died: whoever
comes next takes it up, or closes it when its run has ended. Trials are made under the lock of the
study's folder, so that no driver sees one that is half made, unless its maker died.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from seq2seq.experiments.job import Job, Objective, Outcome
from seq2seq.experiments.ledger import Ledger, State
from seq2seq.experiments.source import Claim, Nothing
from seq2seq.experiments.study import REPLACED, open_study
from seq2seq.storage.folder_lock import FolderLock

DUPLICATE = "duplicate"
MAX_DUPLICATES = 50
"""In a row; then the space is taken to be exhausted."""
DIGITS = 4
"""Significant digits of the real numbers that jobs are given."""

END_STATES = {State.pruned: TrialState.PRUNED, State.finished: TrialState.COMPLETE}

optuna.logging.set_verbosity(optuna.logging.WARNING)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What is searched, and how.

    Attributes:
        folder: of the study.
        space: distributions by key.
        fixed: overrides of every job.
        num_trials: bound on trials, those of all drivers together.
        metric: what to optimise.
        sampler: makes the sampler from a seed.
        pruner: stops trials that are worse than others.
        seed: of the sampler.
    """

    folder: Path
    space: Mapping[str, BaseDistribution]
    fixed: tuple[str, ...]
    num_trials: int
    metric: Objective
    sampler: Callable[[int], BaseSampler]
    pruner: BasePruner
    seed: int


def overrides_of(space: Mapping[str, BaseDistribution], params: Mapping[str, object]) -> list[str]:
    """The parameters of a trial as overrides; real numbers are rounded, within their bounds."""
    return [f"{key}={_text(params[key], distribution)}" for key, distribution in space.items()]


def _text(value: object, distribution: BaseDistribution) -> str:
    if not isinstance(distribution, FloatDistribution) or not isinstance(value, float):
        return str(value)
    rounded = float(f"{value:.{DIGITS}g}")
    return repr(min(max(rounded, distribution.low), distribution.high))


class TrialSource:
    """The trials of a search.

    Args:
        search: what is searched.
        job_of: makes a job from overrides.
        retry_failed: whether to replace trials that failed before.
    """

    def __init__(
        self,
        search: SearchSettings,
        *,
        job_of: Callable[[tuple[str, ...]], Job],
        retry_failed: bool,
    ) -> None:
        self._search, self._job_of = search, job_of
        with self._locked_study():
            self.study = open_study(search.folder, search.metric, search.pruner, search.space)
            if retry_failed:
                self._replace_failed()
        self._claimed: dict[Job, int] = {}
        self._left: set[int] = set()
        """Trials that stopped here and are for a later command."""
        self._reported: dict[int, int] = {}

    def _locked_study(self) -> AbstractContextManager[object]:
        """Nobody else makes or takes up trials meanwhile."""
        lock = FolderLock.acquire(self._search.folder, wait=True)
        return nullcontext() if lock is None else closing(lock)

    def _overrides(self, trial: FrozenTrial) -> tuple[str, ...] | None:
        """The overrides of a trial; None if its maker died before it was complete."""
        if trial.params.keys() != self._search.space.keys():
            return None
        return (*self._search.fixed, *overrides_of(self._search.space, trial.params))

    def _counted(self) -> list[FrozenTrial]:
        """The trials that are neither duplicates, nor half made, nor replaced by another."""
        replaced = set(self.study.user_attrs.get(REPLACED, []))
        return [
            trial
            for trial in self.study.get_trials(deepcopy=False)
            if trial.number not in replaced
            and DUPLICATE not in trial.user_attrs
            and not (trial.state is TrialState.FAIL and self._overrides(trial) is None)
        ]

    def _replace_failed(self) -> None:
        """Line up the parameters of failed trials to be tried again."""
        failed = [trial for trial in self._counted() if trial.state is TrialState.FAIL]
        for trial in failed:
            self.study.enqueue_trial(trial.params)
        replaced = self.study.user_attrs.get(REPLACED, [])
        self.study.set_user_attr(REPLACED, [*replaced, *(trial.number for trial in failed)])

    def claim(self) -> Claim | Nothing:
        """A trial that a dead driver left, or a new one."""
        with self._locked_study():
            return self._orphan() or self._new_trial()

    def _orphan(self) -> Claim | None:
        mine = {*self._claimed.values(), *self._left}
        for trial in self._counted():
            if trial.state is not TrialState.RUNNING or trial.number in mine:
                continue
            overrides = self._overrides(trial)
            if overrides is None:
                self.study.tell(trial.number, state=TrialState.FAIL)
            elif self._is_duplicate(trial):
                self._close_duplicate(trial)
            elif claim := self._claim(trial, overrides):
                return claim
        return None

    def _claim(self, trial: FrozenTrial, overrides: tuple[str, ...]) -> Claim | None:
        job = self._job_of(overrides)
        lock = FolderLock.acquire(job.folder)
        if lock is None:
            return None
        self._claimed[job] = trial.number
        self._reported[trial.number] = max(trial.intermediate_values, default=0)
        return Claim(job, lock)

    def _new_trial(self) -> Claim | Nothing:
        for _ in range(MAX_DUPLICATES):
            trials = self._counted()
            waiting = any(trial.state is TrialState.WAITING for trial in trials)
            if len(trials) >= self._search.num_trials and not waiting:
                break
            trial = self._ask()
            overrides = self._overrides(trial)
            if self._is_duplicate(trial) or overrides is None:
                self._close_duplicate(trial)
            elif claim := self._claim(trial, overrides):
                return claim
            else:
                return Nothing.now  # somebody trains the same run by hand
        mine = {*self._claimed.values(), *self._left}
        running = (trial for trial in self._counted() if trial.state is TrialState.RUNNING)
        elsewhere = any(trial.number not in mine for trial in running)
        return Nothing.now if elsewhere else Nothing.ever

    def _ask(self) -> FrozenTrial:
        # what is proposed depends on the trials there are, not on which driver asks
        num_trials = len(self.study.get_trials(deepcopy=False))
        self.study.sampler = self._search.sampler(self._search.seed + num_trials)
        number = self.study.ask(dict(self._search.space)).number
        return self.study.get_trials(deepcopy=False)[number]

    def _is_duplicate(self, trial: FrozenTrial) -> bool:
        """Whether an earlier trial has the same overrides."""
        overrides = self._overrides(trial)
        earlier = (other for other in self._counted() if other.number < trial.number)
        return any(
            self._overrides(other) == overrides
            for other in earlier
            if other.state is not TrialState.WAITING
        )

    def _close_duplicate(self, trial: FrozenTrial) -> None:
        self._trial(trial.number).set_user_attr(DUPLICATE, True)
        self.study.tell(trial.number, state=TrialState.FAIL)

    def _trial(self, number: int) -> optuna.Trial:
        return optuna.Trial(self.study, self.study.get_trials(deepcopy=False)[number]._trial_id)

    def progressed(self, job: Job, ledger: Ledger) -> bool:
        """Report the validations; returns whether the pruner has seen enough."""
        number = self._claimed[job]
        trial = self._trial(number)
        for epoch, value in ledger.values(self._search.metric.name).items():
            if epoch > self._reported[number]:
                trial.report(value, epoch)
                self._reported[number] = epoch
                if trial.should_prune():
                    return True
        return False

    def ended(self, job: Job, outcome: Outcome) -> None:
        """Close the trial, unless it can be continued."""
        number = self._claimed.pop(job)
        if outcome.state is State.interrupted:
            self._left.add(number)
            return
        state = END_STATES.get(outcome.state, TrialState.FAIL)
        if state is TrialState.COMPLETE and outcome.value is None:
            state = TrialState.FAIL
        value = outcome.value if state is TrialState.COMPLETE else None
        with self._locked_study():
            # between the end of a job and this line another driver may have taken it for left
            self.study.tell(number, value, state=state, skip_if_finished=True)

    def rest(self) -> list[Job]:
        """Trials that nobody works at are for the next command, and not known before."""
        return []

    def trials(self) -> list[tuple[Job, FrozenTrial]]:
        """The trials of all drivers that count, with their jobs."""
        return [
            (self._job_of(overrides), trial)
            for trial in self._counted()
            if (overrides := self._overrides(trial)) is not None
        ]
