"""What ``seq2seq train -m`` does: many runs, each its own command line."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydra._internal.utils import get_args_parser
from hydra.types import HydraContext
from omegaconf import DictConfig
from rich.text import Text

from seq2seq.command_line.calling import own_command
from seq2seq.config import Sampler, SweepConfig
from seq2seq.errors import InputError
from seq2seq.evaluation.metrics import progress_in
from seq2seq.experiments.checkpoints import Keep
from seq2seq.experiments.driver import Driver, Results
from seq2seq.experiments.job import Job, Objective, Outcome, ledger_of, outcome_of
from seq2seq.experiments.ledger import State, flat
from seq2seq.experiments.processes import cores, shares, visible_gpus
from seq2seq.experiments.report import SweepReport, conclusion, results_table
from seq2seq.experiments.source import JobList, Source
from seq2seq.option_rules import warnings
from seq2seq.plain_text import one_line
from seq2seq.runs.run_record import plain_values
from seq2seq.sweeps.cluster import is_elsewhere, launch_elsewhere
from seq2seq.sweeps.hypothesis import keep_hypothesis
from seq2seq.sweeps.seed_sweep import SeedSweep
from seq2seq.sweeps.sweep_jobs import (
    Composer,
    Swept,
    combinations,
    one_at_a_time,
    refuse_shared_folders,
)
from seq2seq.sweeps.tuned_sweep import TunedSweep

PLACES = ("config_path", "config_name", "config_dir")
"""Options that say where configurations are, for the jobs as for the sweep."""

GOOD = {State.finished, State.pruned, State.skipped}


def job_command() -> list[str]:
    """What starts a job, but for its overrides."""
    given = vars(get_args_parser().parse_args(sys.argv[1:]))
    places = {f"--{name.replace('_', '-')}": given[name] for name in PLACES}
    return [*own_command(), *(f"{name}={place}" for name, place in places.items() if place)]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sweep will do.

    Attributes:
        source: gives the jobs.
        known: the jobs that are known beforehand.
        num_jobs: how many there will be at most.
        num_devices: GPUs that each needs.
        outcomes: all that there is to show at the end, from what this driver did.
        answer: what came out of it, in lines.
    """

    source: Source
    known: list[Job]
    num_jobs: int
    num_devices: int
    outcomes: Callable[[dict[Job, Outcome]], dict[Job, Outcome]]
    answer: Callable[[], list[str]] = list


def sweep(
    hydra_context: HydraContext, composed: DictConfig, arguments: Sequence[str]
) -> tuple[int, list[Path]]:
    """Run a sweep to its end, with a table of its jobs.

    Every job is checked before the first one starts. What ended in an earlier sweep is not
    repeated, what was interrupted continues, and what another process works at is waited for.

    Args:
        hydra_context: Hydra's own way to compose.
        composed: what Hydra composed for the sweep.
        arguments: the command line, without ``-m`` and Hydra's own overrides.

    Returns:
        The exit status, and the folders of the runs that are finished.

    Raises:
        InputError: a job is wrong.
    """
    composer = Composer(hydra_context, composed)
    swept = composer.swept(arguments)
    config, metric = swept.config, Objective(*progress_in(swept.config.metric))
    for line in warnings(flat({"sweep": plain_values(config)}), arguments):
        print(one_line(line))
    plan = _plan(composer, swept, metric)
    report = SweepReport(num_jobs=plan.num_jobs, metric=metric)
    if config.dry_run:
        report.console.print(results_table(_as_they_are(plan.known, metric), metric))
        report.console.print(f"{plan.num_jobs} jobs at most; nothing was started (sweep.dry_run)")
        return 0, []
    if config.claim:
        keep_hypothesis(config, str(composed.runs_dir))
    started = time.monotonic()
    if is_elsewhere(composed):
        _refuse_growing(config.sampler)
        launch_elsewhere(
            hydra_context, composed, plan.known, job_command(), retry_failed=config.retry_failed
        )
        results = Results(_as_they_are(plan.known, metric))
    else:
        with report:
            results = _driver(config, plan, metric, report).run()
    outcomes = plan.outcomes(results.outcomes)
    report.console.print(results_table(outcomes, metric))
    lines = conclusion(outcomes, results, metric, time.monotonic() - started)
    for line in [*lines, *plan.answer()]:
        report.console.print(Text(one_line(line)))
    finished = [job.folder for job, each in outcomes.items() if each.state is State.finished]
    if results.signal_number is not None:
        return 128 + results.signal_number, finished
    return int(any(outcome.state not in GOOD for outcome in outcomes.values())), finished


def _refuse_growing(sampler: Sampler) -> None:
    if sampler not in {Sampler.grid, Sampler.one_at_a_time}:
        raise InputError(
            f"hydra/launcher does not go with sweep.sampler={sampler.name}, whose jobs depend on "
            "those before: start the command without it, within a job of the cluster"
        )


def _driver(config: SweepConfig, plan: Plan, metric: Objective, report: SweepReport) -> Driver:
    budget = config.time_budget
    gpus = visible_gpus() if config.jobs > 1 else []
    return Driver(
        plan.source,
        command=job_command(),
        metric=metric,
        slots=shares(config.jobs, cores(), gpus, plan.num_devices),
        keep=Keep[config.keep.value],
        retry_failed=config.retry_failed,
        deadline=None if budget is None else time.monotonic() + 60 * budget,
        observer=report,
    )


def _plan(composer: Composer, swept: Swept, metric: Objective) -> Plan:
    if swept.config.sampler in {Sampler.tpe, Sampler.random}:
        return _search_plan(composer, swept, metric)
    keys = swept.swept_keys()
    answer: Callable[[], list[str]] = list
    if swept.config.sampler is Sampler.seeds:
        seeds = SeedSweep(composer, swept)
        batches, known, answer = seeds.batches(), seeds.first, seeds.answer
        num_jobs = len(known) * swept.config.max_seeds // swept.config.min_seeds
    elif swept.config.sampler is Sampler.tuned:
        tuned = TunedSweep(composer, swept, metric)
        batches, known, answer = tuned.batches(), tuned.first, tuned.answer
        num_jobs = tuned.num_jobs
    else:
        alone = swept.config.sampler is Sampler.one_at_a_time
        settings = one_at_a_time if alone else combinations
        every = composer.distinct(settings(swept.overrides), keys)
        known = [composer.job(each, keys) for each in every]
        batches, num_jobs = iter([known]), len(known)
    refuse_shared_folders(known)
    return Plan(
        source=JobList(batches),
        known=known,
        num_jobs=num_jobs,
        num_devices=composer.compose(known[0].overrides).device.devices,
        outcomes=lambda outcomes: _in_order(outcomes, known),
        answer=answer,
    )


def _search_plan(composer: Composer, swept: Swept, metric: Objective) -> Plan:
    # Optuna is an extra, and takes its time to load
    from seq2seq.sweeps.search_sweep import prepare_search  # noqa: PLC0415

    prepared = prepare_search(composer, swept, metric)

    def outcomes(_: dict[Job, Outcome]) -> dict[Job, Outcome]:
        prepared.draw()
        return _as_they_are(prepared.jobs(), metric)

    return Plan(
        source=prepared.source,
        known=prepared.jobs(),
        num_jobs=swept.config.trials,
        num_devices=prepared.num_devices,
        outcomes=outcomes,
    )


def _in_order(outcomes: dict[Job, Outcome], known: Sequence[Job]) -> dict[Job, Outcome]:
    """The outcomes in the order of the jobs; what was not known beforehand comes last."""
    first = {job: outcomes[job] for job in known if job in outcomes}
    return first | outcomes


def _as_they_are(jobs: Sequence[Job], metric: Objective) -> dict[Job, Outcome]:
    """What the records of jobs say; those without one were never started."""
    outcomes = {}
    for job in jobs:
        ledger = ledger_of(job)
        known = Outcome(State.skipped) if ledger is None else outcome_of(ledger, metric)
        outcomes[job] = known
    return outcomes
