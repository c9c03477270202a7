"""A sweep that searches: ranges on the command line as Optuna's distributions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep

from seq2seq.config import Pruner, Sampler
from seq2seq.errors import InputError
from seq2seq.experiments.job import Job, Objective
from seq2seq.runs.run_folder import safe_name
from seq2seq.storage.writing import inside
from seq2seq.sweeps.sweep_jobs import Composer, Swept, values

try:
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.pruners import BasePruner, MedianPruner, NopPruner, SuccessiveHalvingPruner
    from optuna.samplers import BaseSampler, RandomSampler, TPESampler

    from seq2seq.experiments.search import SearchSettings, TrialSource, overrides_of
except ModuleNotFoundError as error:
    raise InputError(
        "sweep.sampler=tpe and random need Optuna: pip install 'seq2seq-attention[sweep]'"
    ) from error

NUM_STARTUP_TRIALS = 4
"""Trials that end before the median pruner compares others with them."""

SAMPLERS: dict[Sampler, Callable[[int], BaseSampler]] = {
    Sampler.tpe: lambda seed: TPESampler(seed=seed),
    Sampler.random: lambda seed: RandomSampler(seed=seed),
}


@dataclass(frozen=True, slots=True)
class PreparedSearch:
    """A search that can begin.

    Attributes:
        source: gives its trials.
        folder: of the study.
        num_devices: GPUs that a job needs.
    """

    source: TrialSource
    folder: Path
    num_devices: int

    def jobs(self) -> list[Job]:
        """The jobs of all trials that count."""
        return [job for job, _ in self.source.trials()]

    def draw(self) -> None:
        """Write the pictures of the study."""
        from seq2seq.sweeps.study_pictures import draw_study  # noqa: PLC0415 - at the end

        draw_study(self.source.study, self.folder)


def prepare_search(composer: Composer, swept: Swept, metric: Objective) -> PreparedSearch:
    """Check the space and open the study.

    Raises:
        InputError: there is nothing to search, or an end of a range is no valid value.
    """
    config, keys = swept.config, swept.swept_keys()
    space = {key: distribution(swept.overrides[key]) for key in swept.overrides if key in keys}
    if not space:
        raise InputError("there is nothing to search: give a range, such as 'model.dropout=…,…'")
    fixed = tuple(each.input_line or "" for key, each in swept.overrides.items() if key not in keys)
    ends = [composer.compose([*fixed, *end]) for end in _ends(space)]
    name = config.name or ",".join(
        sorted(each.input_line or "" for each in swept.overrides.values())
    )
    folder = inside(Path(ends[0].runs_dir), f"sweeps/{safe_name(name)}")
    search = SearchSettings(
        folder=folder,
        space=space,
        fixed=fixed,
        num_trials=config.trials,
        metric=metric,
        sampler=SAMPLERS[config.sampler],
        pruner=_pruner(config.pruner, config.pruner_warmup),
        seed=config.sampler_seed,
    )
    known: dict[tuple[str, ...], Job] = {}

    def job_of(overrides: tuple[str, ...]) -> Job:
        if overrides not in known:
            known[overrides] = composer.job(overrides, keys)
        return known[overrides]

    source = TrialSource(search, job_of=job_of, retry_failed=config.retry_failed)
    return PreparedSearch(source, folder, ends[0].device.devices)


def _ends(space: Mapping[str, BaseDistribution]) -> list[list[str]]:
    """Overrides that together hold every end of every range and every choice."""
    options = {key: _extremes(each) for key, each in space.items()}
    longest = max(map(len, options.values()))
    return [
        overrides_of(space, {key: each[min(i, len(each) - 1)] for key, each in options.items()})
        for i in range(longest)
    ]


def _extremes(distribution: BaseDistribution) -> list[object]:
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if isinstance(distribution, FloatDistribution | IntDistribution):
        return [distribution.low, distribution.high]
    raise TypeError(f"a search does not make a {type(distribution).__name__}")


def distribution(override: Override) -> BaseDistribution:
    """The typed distribution of a swept override.

    ``interval(0, 0.4)`` is real, ``int(interval(1, 4))`` and ``range(1, 5)`` are whole numbers,
    ``tag(log, …)`` makes either logarithmic, and ``a,b`` is a choice.

    Raises:
        InputError: the range is empty, or not positive on a logarithmic scale.
    """
    value = override.value()
    log = isinstance(value, IntervalSweep | RangeSweep) and "log" in value.tags
    try:
        if isinstance(value, IntervalSweep):
            return _interval(value, log)
        if isinstance(value, RangeSweep) and isinstance(numbers := value.range(), range):
            return IntDistribution(numbers[0], numbers[-1], log=log, step=numbers.step)
    except (ValueError, IndexError) as error:
        raise InputError(f"{override.input_line}: {error}") from error
    key = override.get_key_element()
    return CategoricalDistribution([text.removeprefix(f"{key}=") for text in values(override)])


def _interval(interval: IntervalSweep, log: bool) -> BaseDistribution:
    low, high = interval.start, interval.end
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(float(low or 0), float(high or 0), log=log)


def _pruner(pruner: Pruner, warmup: int) -> BasePruner:
    if pruner is Pruner.median:
        return MedianPruner(n_startup_trials=NUM_STARTUP_TRIALS, n_warmup_steps=warmup)
    if pruner is Pruner.halving:
        return SuccessiveHalvingPruner(min_resource=max(warmup, 1))
    return NopPruner()
