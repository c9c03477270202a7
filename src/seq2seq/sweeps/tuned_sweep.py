"""Gives every setting the value of one key that does best on the validation split."""

from collections.abc import Iterator, Mapping

from seq2seq.errors import InputError
from seq2seq.experiments.job import Job, Objective, ledger_of
from seq2seq.experiments.ledger import State
from seq2seq.sweeps.sweep_jobs import Composer, Swept, combinations, values


class TunedSweep:
    """Every value with the first seed; of each setting the best value with the other seeds.

    Args:
        composer: makes the jobs.
        swept: the settings, the seeds, and the values of the key that is tuned.
        metric: what values are judged by.

    Raises:
        InputError: the key or the seeds have no values to choose from.
    """

    def __init__(self, composer: Composer, swept: Swept, metric: Objective) -> None:
        self._metric = metric
        overrides, keys = dict(swept.overrides), swept.swept_keys()
        needed = (swept.config.tuned or "sweep.tuned", "seed")
        for key in needed:
            if key not in keys:
                raise InputError(f"sweep.sampler=tuned needs several values of {key}")
        tuned, seeds = (values(overrides.pop(key)) for key in needed)
        self._settings: list[dict[str, list[Job]]] = [
            {
                value: [composer.job((*setting, value, seed), keys) for seed in seeds]
                for value in tuned
            }
            for setting in composer.distinct(combinations(overrides), keys)
        ]
        self.first = [jobs[0] for setting in self._settings for jobs in setting.values()]
        self.num_jobs = len(self._settings) * (len(tuned) + len(seeds) - 1)

    def batches(self) -> Iterator[list[Job]]:
        """The jobs that choose, then the others."""
        yield self.first
        chosen = (setting[best] for setting in self._settings if (best := self._best(setting)))
        yield [job for jobs in chosen for job in jobs[1:]]

    def answer(self) -> list[str]:
        """What each setting took, in lines."""
        return [
            f"{'chosen':<12}{best}: {setting[best][0].label}"
            for setting in self._settings
            if (best := self._best(setting))
        ]

    def _best(self, setting: Mapping[str, list[Job]]) -> str | None:
        """The best of the values whose first job is finished; None where none is."""
        ledgers = {value: ledger_of(jobs[0]) for value, jobs in setting.items()}
        finished = {v: led for v, led in ledgers.items() if led and led.state is State.finished}
        return self._metric.choice(finished)
