"""Adds seeds to each of some settings until it is clear which one is best."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from seq2seq.errors import InputError
from seq2seq.evaluation.bleu_statistics import bleu_of
from seq2seq.evaluation.significance import compare
from seq2seq.experiments.comparison import Run
from seq2seq.experiments.job import Job, ledger_of
from seq2seq.experiments.ledger import State
from seq2seq.own_files import own_file
from seq2seq.runs.making.corpus import has_test_split
from seq2seq.sweeps.comparison import statistics_on_test
from seq2seq.sweeps.sweep_jobs import Composer, Swept, combinations


@dataclass(frozen=True, slots=True)
class Candidate:
    """A combination of values, and its jobs, one for each seed."""

    overrides: tuple[str, ...]
    label: str
    jobs: list[Job] = field(default_factory=list)

    def runs(self) -> list[Run]:
        """Its finished runs."""
        found = [(job.folder, ledger_of(job)) for job in self.jobs]
        return [Run(path, each) for path, each in found if each and each.state is State.finished]


class SeedSweep:
    """The jobs of the first seeds, then of one more each time that the answer is not clear.

    Args:
        composer: makes the jobs.
        swept: the settings.

    Raises:
        InputError: there are no two settings, seeds are set, or there is nothing to test on.
    """

    def __init__(self, composer: Composer, swept: Swept) -> None:
        self._composer, self._config = composer, swept.config
        overrides, keys = dict(swept.overrides), swept.swept_keys()
        if "seed" in overrides:
            raise InputError(f"{overrides['seed'].input_line}: sweep.sampler=seeds sets the seeds")
        self._keys = keys | {"seed"}
        self._settings = [
            Candidate(each, ", ".join(text for text in each if text.partition("=")[0] in keys))
            for each in composer.distinct(combinations(overrides), keys)
        ]
        if len(self._settings) < 2:
            raise InputError(
                "sweep.sampler=seeds needs two settings, such as attention=additive,dot"
            )
        self.first = [job for n in range(1, self._config.min_seeds + 1) for job in self._add(n)]
        for job in self.first[: len(self._settings)]:
            if not has_test_split(composer.compose(job.overrides).data):
                raise InputError(
                    f"{job.label}: sweep.sampler=seeds compares on the test split, and there is "
                    f"none: name test files, or see {own_file('docs/data.md')}"
                )
        # several looks at growing data would find something by luck: each has its share
        num_looks = self._config.max_seeds - self._config.min_seeds + 1
        self._level = self._config.significance / num_looks

        self._looked_at: list[Path] | None = None
        self._seen: tuple[bool, list[str]]

    def _add(self, seed: int) -> list[Job]:
        for setting in self._settings:
            setting.jobs.append(
                self._composer.job([*setting.overrides, f"seed={seed}"], self._keys)
            )
        return [setting.jobs[-1] for setting in self._settings]

    def batches(self) -> Iterator[list[Job]]:
        """The jobs, as many at a time as there are settings, but for the first ones."""
        yield self.first
        for seed in range(self._config.min_seeds + 1, self._config.max_seeds + 1):
            if self._look()[0]:
                return
            yield self._add(seed)

    def answer(self) -> list[str]:
        """What is known at the end, in lines."""
        return self._look()[1]

    def _look(self) -> tuple[bool, list[str]]:
        """Whether more seeds would say no more, and what is known."""
        tested = [setting.runs() for setting in self._settings]
        looked_at = [run.folder for runs in tested for run in runs]
        if looked_at != self._looked_at:
            self._looked_at, self._seen = looked_at, self._judged(tested)
        return self._seen

    def _judged(self, tested: list[list[Run]]) -> tuple[bool, list[str]]:
        if any(len(runs) < 2 for runs in tested):
            return False, ["answer      none: a setting has fewer than two finished runs"]
        if len({run.texts().get("test") for runs in tested for run in runs}) > 1:
            return True, ["answer      none: the settings have different test sentences"]
        found = [statistics_on_test(runs) for runs in tested]
        statistics = [each for each in found if each is not None]
        if len(statistics) < len(found):
            return False, ["answer      none: a setting has no test translations"]
        means = [float(bleu_of(each.sum(axis=1)).mean()) for each in statistics]
        best = means.index(max(means))
        label, signature = self._settings[best].label, tested[best][0].signature
        lines = [f"{'answer':<12}{label}: mean test BLEU {means[best]:.2f} ({signature})"]
        is_clear = True
        for place, setting in enumerate(self._settings):
            if place != best:
                comparison = compare(statistics[place], statistics[best], self._level)
                is_clear = is_clear and comparison.p < self._level
                words = comparison.words(self._level)
                lines.append(f"{'':<12}{comparison.difference:+.2f} to {setting.label}, {words}")
        return is_clear, lines
