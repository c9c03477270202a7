"""What the comparisons of a claim are by: counts of sentences, and the score of their sums.

``bleu`` and ``fall`` are counted in every test sentence, so that luck with sentences is known. Any
other is a number for each seed: a metric of the test split by greedy search or, where only
validations take it, that of the exported model; ``stays``, words that stay with other ``weights``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seq2seq.claims.searches import probed
from seq2seq.errors import InputError
from seq2seq.evaluation.bleu_statistics import NUM_STATISTICS, bleu_of
from seq2seq.evaluation.metrics import METRICS, progress_in
from seq2seq.evaluation.significance import Score, statistics_of
from seq2seq.experiments.comparison import Run
from seq2seq.experiments.translations import Translations
from seq2seq.sweeps.hypothesis import Statement


@dataclass(frozen=True, slots=True)
class Material:
    """What is known of a setting.

    Attributes:
        runs: one for each seed.
        translations: of the test split, by each of them; none where that is not kept.
        weights: what attention has instead of its own, see ``probe-attention``.
    """

    runs: Sequence[Run]
    translations: Sequence[Translations]
    weights: str = ""

    def folders(self) -> list[Path]:
        """Where its models are."""
        return [run.folder for run in self.runs]

    def statistics(self) -> NDArray:
        """The counts for BLEU, (seeds, sentences, `NUM_STATISTICS`).

        Raises:
            InputError: a run has no translations of the test split.
        """
        if len(self.translations) < len(self.runs):
            raise InputError(f"{self.runs[0].folder}: the translations of the test split are gone")
        hypotheses = [each.hypotheses for each in self.translations]
        return statistics_of(hypotheses, self.translations[0].references, self.runs[0].language)


@dataclass(frozen=True, slots=True)
class Measured:
    """A setting, measured.

    Attributes:
        counts: (seeds, sentences, counts).
        score: of sums of them.
    """

    counts: NDArray
    score: Score

    def by_seed(self) -> list[float]:
        """The score of each seed."""
        scores: list[float] = self.score(self.counts.sum(axis=1)).tolist()
        return scores


def measured(name: str, material: Material, claim: Statement) -> Measured:
    """A setting, by a measure.

    Raises:
        InputError: there is no such measure, or the runs do not have it.
    """
    return MEASURES.get(name, _by_seed(name))(material, claim)


def _bleu(material: Material, _: Statement) -> Measured:
    return Measured(material.statistics(), bleu_of)


def _fall(material: Material, claim: Statement) -> Measured:
    """BLEU of short sentences less that of long ones."""
    if claim.lengths is None:
        raise InputError("sweep.claim: the measure fall needs lengths: [of short, of long ones]")
    counts = material.statistics()
    words = np.array([len(source.split()) for source in material.translations[0].sources])
    short, long = claim.lengths
    classes = [words <= short, words >= long]
    if not all(each.any() for each in classes):
        raise InputError(f"no test sentences of at most {short} words, or of at least {long}")
    return Measured(np.concatenate([counts * each[:, None] for each in classes], axis=2), _apart)


def _apart(sums: NDArray) -> NDArray:
    difference: NDArray = bleu_of(sums[..., :NUM_STATISTICS]) - bleu_of(sums[..., NUM_STATISTICS:])
    return difference


def _stays(material: Material, _: Statement) -> Measured:
    shares = [probed(run).get(material.weights) for run in material.runs]
    known = [100 * share for share in shares if share is not None]
    if len(known) < len(shares):
        raise InputError(f"sweep.claim: nothing is probed with weights={material.weights!r}")
    return _numbers(known)


def _by_seed(name: str) -> Callable[[Material, Statement], Measured]:
    return lambda material, _: _numbers([number_of(run, name) for run in material.runs])


def _numbers(numbers: Sequence[float]) -> Measured:
    return Measured(np.array(numbers)[:, None, None], lambda sums: sums[..., 0])


def number_of(run: Run, name: str) -> float:
    """A metric of a run, see above.

    Raises:
        InputError: it has none.
    """
    tested = run.score("test", name)
    if tested is not None:
        return tested
    if name in METRICS.built_in and run.ledger.best is not None:
        logged = progress_in(name)[0]
        if logged in run.ledger.best:
            share = 100 if name == "aer" else 1  # all scores are of a hundred
            return share * run.ledger.best[logged]
    raise InputError(f"{run.folder} has no {name}, which sweep.claim compares")


MEASURES: dict[str, Callable[[Material, Statement], Measured]] = {
    "bleu": _bleu,
    "fall": _fall,
    "stays": _stays,
}
