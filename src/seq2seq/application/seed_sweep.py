"""Adds seeds to each of some settings until it is clear which one is best."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq.application.sweep_jobs import Composer, Swept, combinations
from seq2seq.errors import InputError
from seq2seq.evaluation.significance import Comparison, compare
from seq2seq.experiments.job import Job, ledger_of
from seq2seq.experiments.ledger import State
from seq2seq.experiments.translations import read_translations, translations_path


@dataclass(frozen=True, slots=True)
class Setting:
    """A combination of values, and its jobs, one for each seed."""

    overrides: tuple[str, ...]
    jobs: list[Job]


def seed_batches(composer: Composer, swept: Swept) -> tuple[Iterator[list[Job]], list[Job]]:
    """The jobs of the first seeds, then of one more each time that the answer is not clear.

    Returns:
        The batches, and the jobs of the first one.

    Raises:
        InputError: there are no two settings, or seeds are set.
    """
    config, overrides = swept.config, dict(swept.overrides)
    if "seed" in overrides:
        raise InputError(f"{overrides['seed'].input_line}: sweep.sampler=seeds sets the seeds")
    keys = swept.swept_keys() | {"seed"}
    settings = [Setting(each, []) for each in combinations(overrides)]
    if len(settings) < 2:
        raise InputError("sweep.sampler=seeds needs two settings, such as attention=additive,dot")

    def add(seed: int) -> list[Job]:
        for setting in settings:
            setting.jobs.append(composer.job([*setting.overrides, f"seed={seed}"], keys))
        return [setting.jobs[-1] for setting in settings]

    first = [job for seed in range(1, config.min_seeds + 1) for job in add(seed)]
    # several looks at growing data would find something by luck: each has its share (Bonferroni)
    level = config.significance / (config.max_seeds - config.min_seeds + 1)

    def batches() -> Iterator[list[Job]]:
        yield first
        for seed in range(config.min_seeds + 1, config.max_seeds + 1):
            if _is_clear([setting.jobs for setting in settings], level):
                return
            yield add(seed)

    return batches(), first


def _is_clear(groups: Sequence[Sequence[Job]], level: float) -> bool:
    """Whether the best group is better than each of the others by more than luck.

    A group without two finished runs leaves it open.
    """
    translated = [_test_translations(jobs) for jobs in groups]
    if any(len(each) < 2 for each in translated):
        return False
    references = read_translations(_test_path(groups[0][0])).references
    against_first = [compare(translated[0], each, references) for each in translated[1:]]
    differences = [0.0, *(comparison.difference for comparison in against_first)]
    best = differences.index(max(differences))
    return all(
        comparison.p < level for comparison in _against(translated, best, references, against_first)
    )


def _against(
    translated: list[list[list[str]]],
    best: int,
    references: list[str],
    against_first: list[Comparison],
) -> list[Comparison]:
    """The comparisons of the best with each of the others."""
    if best == 0:
        return against_first
    others = (each for place, each in enumerate(translated) if place != best)
    return [compare(each, translated[best], references) for each in others]


def _test_translations(jobs: Sequence[Job]) -> list[list[str]]:
    finished = []
    for job in jobs:
        ledger = ledger_of(job)
        if ledger is not None and ledger.state is State.finished and _test_path(job).is_file():
            finished.append(read_translations(_test_path(job)).hypotheses)
    return finished


def _test_path(job: Job) -> Path:
    return translations_path(job.folder, "test")
