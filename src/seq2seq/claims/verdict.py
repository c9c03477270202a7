"""Whether the runs of a claim show what it says."""

from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np
from msgspec import Struct

from seq2seq.claims.measures import Material, Measured, measured
from seq2seq.evaluation.significance import compare
from seq2seq.experiments.comparison import spread
from seq2seq.sweeps.hypothesis import Question, Setting, Statement

LEVEL = 0.05

MaterialOf = Callable[[Setting], Material]


class Finding(Enum):
    """What a comparison shows of what was expected."""

    so = "as claimed"
    opposite = "the opposite"
    unclear = "not shown"
    asked = "asked only"


class Verdict(Enum):
    """What is to be said of a claim."""

    reproduced = "reproduced"
    not_reproduced = "not reproduced"
    depends = "depends"


class Compared(Struct, frozen=True, kw_only=True):
    """What a comparison has found.

    Attributes:
        says: see `Question`.
        measure: likewise.
        these: mean and deviation over seeds of the first setting.
        those: of the second; empty where it is nothing.
        difference: of the first less the second.
        interval: where that lies, luck with sentences and seeds considered.
        p: of no difference.
        finding: of what was expected.
    """

    says: str
    measure: str
    these: str
    those: str
    difference: float
    interval: tuple[float, float]
    p: float
    finding: Finding

    def words(self) -> str:
        """In a line."""
        low, high = self.interval
        if self.those:
            sides = f"{self.these} against {self.those}, {self.difference:+.2f}"
            return f"{self.says}: {sides} ({low:+.2f} to {high:+.2f}): {self.finding.value}"
        return f"{self.says}: {self.these} ({low:.2f} to {high:.2f}): {self.finding.value}"


def verdict_of(found: Sequence[Compared]) -> Verdict:
    """Reproduced where all is as claimed that was expected, not reproduced where nothing is."""
    tested = [each.finding is Finding.so for each in found if each.finding is not Finding.asked]
    if all(tested):
        return Verdict.reproduced
    return Verdict.depends if any(tested) else Verdict.not_reproduced


def compared(claim: Statement, material_of: MaterialOf) -> list[Compared]:
    """All comparisons, at a level of `LEVEL` divided by the number of those that decide.

    Args:
        claim: what is compared.
        material_of: what is known of a setting.
    """
    level = LEVEL / max(1, sum(each.expected is not None for each in claim.comparisons))
    return [_compared(each, claim, material_of, level) for each in claim.comparisons]


def _compared(
    comparison: Question, claim: Statement, material_of: MaterialOf, level: float
) -> Compared:
    material, others = material_of(comparison.these), comparison.those
    beside = None if others is None else material_of(others)
    these = measured(comparison.measure, material, claim)
    those = None if beside is None else measured(comparison.measure, beside, claim)
    against = _nothing(these) if those is None else those
    paired = beside is not None and beside.folders() == material.folders()
    found = compare(against.counts, these.counts, level, score=these.score, paired=paired)
    return Compared(
        says=comparison.says,
        measure=comparison.measure,
        these=spread(these.by_seed()),
        those="" if those is None else spread(those.by_seed()),
        difference=found.difference,
        interval=found.interval,
        p=found.p,
        finding=_finding(comparison, found.interval),
    )


def _nothing(measure: Measured) -> Measured:
    """A setting of which all sums are 0."""
    return Measured(np.zeros_like(measure.counts), measure.score)


def _finding(comparison: Question, interval: tuple[float, float]) -> Finding:
    low, high = interval
    if comparison.expected is None:
        return Finding.asked
    above, below = Finding.so, Finding.opposite
    if comparison.expected != "more":
        above, below = below, above
    if low > comparison.bound:
        return above
    return below if high < comparison.bound else Finding.unclear
