"""The runs that a setting of a claim names, each with the value that was tuned for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser

from seq2seq.config import SweepConfig
from seq2seq.errors import InputError
from seq2seq.evaluation.metrics import progress_in
from seq2seq.experiments.comparison import Group, Run, find_runs, group_runs
from seq2seq.experiments.job import Objective
from seq2seq.plain_text import one_line
from seq2seq.sweeps.hypothesis import WEIGHTS, Setting
from seq2seq.sweeps.sweep_jobs import values

OF_SEARCH = "decoding."
"""Keys of a setting that say how finished models search."""


class UnfinishedError(InputError):
    """Runs are missing."""


@dataclass(frozen=True, slots=True)
class Arms:
    """The finished runs of a claim.

    Attributes:
        config: of the sweep.
        folder: of the runs.
        groups: the runs, by everything but the seed.
    """

    config: SweepConfig
    folder: Path
    groups: Sequence[Group]

    @classmethod
    def found(cls, config: SweepConfig, folder: Path) -> "Arms":
        """Those in a folder.

        Raises:
            UnfinishedError: there are none.
        """
        try:
            return cls(config, folder, group_runs(find_runs([folder]).finished))
        except InputError as error:
            raise UnfinishedError(str(error)) from error

    def every(self) -> list[Group]:
        """All groups that were not left behind by the choice of a value, in their order."""
        if self.config.tuned is None:
            return list(self.groups)
        num_seeds = len(self._values("seed"))
        return [group for group in self.groups if len(group.runs) == num_seeds]

    def named(self) -> list[tuple[str, Group]]:
        """These groups, by the first of their keys that tell them apart."""
        groups, keys = self.every(), list[str]()
        for key in dict.fromkeys(key for group in groups for key in group.values):
            more = {_told(group, [*keys, key]) for group in groups}
            if len(more) > len({_told(group, keys) for group in groups}):
                keys.append(key)
        return [(_told(group, keys) or group.label, group) for group in groups]

    def runs(self, setting: Setting) -> list[Run]:
        """The runs of a setting, a run for each seed.

        Raises:
            UnfinishedError: some of them are missing.
            InputError: the setting is of several groups.
        """
        wanted = {k: v for k, v in setting.items() if not k.startswith((OF_SEARCH, WEIGHTS))}
        groups = [each for each in self.groups if _is_of(each, wanted)]
        tuned, seeds = self.config.tuned, self._values("seed")
        num_groups = 1 if tuned is None else len(self._values(tuned))
        if len(groups) > num_groups:
            raise InputError(f"{setting} of sweep.claim are several settings of {self.folder}")
        if len(groups) == num_groups:
            runs = {str(run.ledger.seed): run for run in self._best(groups, seeds[0])}
            if all(seed in runs for seed in seeds):
                return [runs[seed] for seed in seeds]
        raise UnfinishedError(f"{self.folder} lacks finished runs of {setting}")

    def _best(self, groups: Sequence[Group], seed: str) -> Sequence[Run]:
        """Runs of the group that is best by a seed, on the validation split; none if one has none.

        Of one group there is nothing to choose.
        """
        if len(groups) == 1:
            return groups[0].runs
        judged = {
            place: run.ledger
            for place, group in enumerate(groups)
            for run in group.runs
            if str(run.ledger.seed) == seed
        }
        best = Objective(*progress_in(self.config.metric)).choice(judged)
        return [] if best is None or len(judged) < len(groups) else groups[best].runs

    def _values(self, key: str) -> list[str]:
        """What the sweep has of a key."""
        line = f"{key}={self.config.parameters.get(key, '1')}"
        listed = values(OverridesParser.create().parse_override(line))
        return [each.partition("=")[2] for each in listed]


def _told(group: Group, keys: Sequence[str]) -> str:
    """Values of a group, without the sections of their keys."""
    told = (f"{key.rpartition('.')[2]}={group.values.get(key)}" for key in keys)
    return one_line(", ".join(told))


def _is_of(group: Group, setting: Setting) -> bool:
    known = group.runs[0].values()
    return all(key in known and known[key] == value for key, value in setting.items())
