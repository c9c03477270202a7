"""Is one system better than another, or was it luck?

Two kinds of luck: which sentences are in the test set, and which seeds the systems had. The first
is measured by paired bootstrap resampling (Koehn 2004, "Statistical significance tests for machine
translation evaluation"), the second by Welch's test (1947) on the scores of the seeds. Two runs
alone tell nothing of the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest, Result

from seq2seq.evaluation.score_card import cased_bleu

NUM_RESAMPLES = 1000

NUM_STEPS = 20_000
"""Of the midpoint rule."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems, each with a number of seeds.

    Attributes:
        difference: mean BLEU of the second less that of the first.
        p_sentences: of the paired bootstrap over sentences.
        p_seeds: of Welch's test over seeds; None where a system has but one.
    """

    difference: float
    p_sentences: float
    p_seeds: float | None

    @property
    def p(self) -> float:
        """The greater of the two: a difference must be due to neither kind of luck."""
        return self.p_sentences if self.p_seeds is None else max(self.p_sentences, self.p_seeds)

    def words(self, level: float) -> str:
        """What to believe."""
        verdict = "significant" if self.p < level else "not significant"
        caveat = ", one seed" if self.p_seeds is None else ""
        return f"{verdict} (p = {self.p:.3f}{caveat})"


def compare(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], references: Sequence[str]
) -> Comparison:
    """Compare two systems by BLEU.

    Args:
        first: translations of the test sentences, for each seed of the first system.
        second: of the second one; as many as are in both are paired, in their order.
        references: of the test sentences.

    Raises:
        ValueError: there are no seeds, or translations and references differ in number.
    """
    if any(len(each) != len(references) for each in chain(first, second)):
        raise ValueError("translations and references differ in number")
    if not (first and second and references):
        raise ValueError("nothing to compare")
    scores = [[cased_bleu(each, references) for each in system] for system in (first, second)]
    return Comparison(
        difference=float(np.mean(scores[1]) - np.mean(scores[0])),
        p_sentences=_paired_bootstrap(first, second, references),
        p_seeds=welch(*scores),
    )


def _paired_bootstrap(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], references: Sequence[str]
) -> float:
    """SacreBLEU's own, over the test sentences of all pairs of seeds."""
    num_pairs = min(len(first), len(second))
    systems: list[tuple[str, Sequence[str]]] = [
        (name, list(chain.from_iterable(system[:num_pairs])))
        for name, system in (("first", first), ("second", second))
    ]
    if systems[0][1] == systems[1][1]:
        return 1.0  # sacreBLEU counts resamples that differ by more than nothing: none
    test = PairedTest(
        systems,
        {"BLEU": BLEU()},
        [list(references) * num_pairs],
        test_type="bs",
        n_samples=NUM_RESAMPLES,
    )
    result = test()[1]["BLEU"][1]
    if not isinstance(result, Result) or result.p_value is None:
        raise TypeError(f"sacreBLEU gave {result!r} for a paired bootstrap")
    return result.p_value


def welch(first: Sequence[float], second: Sequence[float]) -> float | None:
    """P of Welch's two-sided test that two samples have one mean; None for samples of one.

    With the Welch-Satterthwaite degrees of freedom v, p = P(|T| > t) of Student's t, whose tail is
    the integral of cos^(v - 1) from arctan(t / sqrt(v)) to pi / 2, over that from 0.
    """
    if min(len(first), len(second)) < 2:
        return None
    variances = [float(np.var(sample, ddof=1)) / len(sample) for sample in (first, second)]
    difference = abs(float(np.mean(first) - np.mean(second)))
    if sum(variances) == 0:
        return 0.0 if difference else 1.0
    t = difference / sum(variances) ** 0.5
    parts = zip(variances, (first, second), strict=True)
    freedom = sum(variances) ** 2 / sum(v**2 / (len(sample) - 1) for v, sample in parts)
    return _tail(t, freedom)


def _tail(t: float, freedom: float) -> float:
    start = np.arctan(t / freedom**0.5)
    return _cosine_power(start, freedom) / _cosine_power(0.0, freedom)


def _cosine_power(start: float, freedom: float) -> float:
    """Integral of cos^(freedom - 1) from start to pi / 2, by the midpoint rule."""
    width = (np.pi / 2 - start) / NUM_STEPS
    places = start + width * (np.arange(NUM_STEPS) + 0.5)
    return float((np.cos(places) ** (freedom - 1)).sum() * width)
