"""Attention statistics that need no gold alignment: entropy, peak, coverage, monotonicity.

The row of the target's ``<eos>`` and padding are not counted. Statistics are sums and counts, so that means over a
data set are exact and depend neither on padding nor on the batch size.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

UNATTENDED = 0.1
"""A source token whose weights sum to less than this counts as unattended.

The sum is the coverage of Tu et al. (2016) and Wu et al. (2016); it is 1 for a token that is translated by one
word. The threshold is ours.
"""


ALARMS: dict[str, tuple[str, float, str]] = {
    "padding": ("padding_mass", 0.001, "it is on padding: use the mask of the batch, source_is_token"),
    "not_formed": ("entropy", 0.9, "it has not formed: train longer, lower optimizer.lr, look at the pairs"),
    "eos": ("eos_mass", 0.5, "it sits on <eos>: do the targets belong to the sources?"),
    "column": ("column_mass", 0.6, "it has collapsed on one column: lower optimizer.lr, scale the scores"),
    "copied_row": ("row_overlap", 0.9, "all target tokens attend to the same: look at the query"),
}  # fmt: skip
"""Alarms: a scalar, the bound from which on it is wrong, and what is said.

The bounds are ours, between healthy and broken runs of `benchmarks/alarms.py`, see docs/concepts/alignment.md.
"""


def alarms(metrics: Mapping[str, float], *, is_late: bool = True) -> dict[str, str]:
    """Return what is wrong with attention, by names of `ALARMS`.

    Attention on padding is always wrong. Of the others at most the first is reported, and only late in training: at first all
    attention is even. Metrics are those of `AttentionStatistics.metrics`; attention should have formed if `is_late`.
    """
    wrong = {
        name: f"{text} ({scalar} {metrics[scalar]:.2f}, alarm from {bound})"
        for name, (scalar, bound, text) in ALARMS.items()
        if metrics[scalar] >= bound
    }
    late = [name for name in wrong if name != "padding"][: 1 if is_late else 0]
    return {name: wrong[name] for name in ("padding", *late) if name in wrong}


@dataclass(frozen=True, slots=True)
class AttentionStatistics:
    """Sums of attention statistics over the target tokens of one or more batches.

    Attributes:
        entropy: Entropy of each token's weights, divided by the logarithm of the source length (with
            ``<eos>``): 1 for uniform attention, 0 for attention to a single token.
        padding_mass: Weight on padding; must be 0.
        end_mass: Weight on the source's ``<eos>``.
        peak: Maximum weight.
        diagonality: 1 less the mean distance of the weight from the diagonal, divided by the maximum distance.
        column: Weight, beyond that of one target token, on the source token without ``<eos>`` that has most of its
            sentence: 0 of a diagonal, the number of target tokens less 1 if all attend to one.
        num_tokens: Number of target tokens.
        num_unattended: Number of source tokens without ``<eos>`` whose sum is below `UNATTENDED`.
        num_source_tokens: Number of source tokens without ``<eos>``.
        num_forward: Number of pairs of neighboring target tokens whose most attended source token does not
            go back.
        overlap: Weight that neighboring target tokens share, the sum of the minimum of both.
        num_neighbors: Number of pairs of neighboring target tokens that both have weights.
    """

    entropy: float = 0.0
    padding_mass: float = 0.0
    end_mass: float = 0.0
    peak: float = 0.0
    diagonality: float = 0.0
    column: float = 0.0
    num_tokens: int = 0
    num_unattended: int = 0
    num_source_tokens: int = 0
    num_forward: int = 0
    overlap: float = 0.0
    num_neighbors: int = 0

    def __add__(self, other: "AttentionStatistics") -> "AttentionStatistics":
        names = [field.name for field in fields(self)]
        return AttentionStatistics(**{name: getattr(self, name) + getattr(other, name) for name in names})

    def metrics(self) -> dict[str, float]:
        """Return the means by name; `unattended` is per source token, `monotonicity` per pair of neighbors."""
        num_tokens = max(self.num_tokens, 1)
        return {
            "entropy": self.entropy / num_tokens,
            "padding_mass": self.padding_mass / num_tokens,
            "eos_mass": self.end_mass / num_tokens,
            "peak": self.peak / num_tokens,
            "diagonality": self.diagonality / num_tokens,
            "column_mass": self.column / max(self.num_neighbors, 1),
            "row_overlap": self.overlap / max(self.num_neighbors, 1),
            "unattended": self.num_unattended / max(self.num_source_tokens, 1),
            # a sentence of one word does not go back
            "monotonicity": self.num_forward / self.num_neighbors if self.num_neighbors else 1.0,
        }


def attention_statistics(
    weights: npt.ArrayLike, source_lengths: npt.ArrayLike, target_lengths: npt.ArrayLike
) -> AttentionStatistics:
    """Compute the statistics of the attention weights of a batch.

    Args:
        weights: Attention weights (B, T, S), with padding.
        source_lengths: Number of tokens of each source sentence, with ``<eos>`` (B).
        target_lengths: Number of tokens of each target sentence, with ``<eos>`` (B).
    """
    array = np.asarray(weights, dtype=np.float64)
    source, target = np.asarray(source_lengths), np.asarray(target_lengths) - 1
    columns, rows = np.arange(array.shape[2]), np.arange(array.shape[1])
    is_source = columns < source[:, None]
    is_word = columns < source[:, None] - 1
    is_row = np.less(rows, target[:, None])
    counted = array * is_row[:, :, None]
    unattended = (counted.sum(axis=1) < UNATTENDED) & is_word
    has_weights = counted.sum(axis=2) > 0
    is_neighbor = has_weights[:, :-1] & has_weights[:, 1:]
    return AttentionStatistics(
        entropy=_normalized_entropy(counted * is_source[:, None], source),
        padding_mass=float((counted * ~is_source[:, None]).sum()),
        end_mass=float((counted * (is_source & ~is_word)[:, None]).sum()),
        peak=float((counted * is_source[:, None]).max(axis=2).sum()),
        diagonality=float((counted * _centrality(source, target + 1, array.shape)).sum()),
        column=float(((counted.sum(axis=1) * is_word).max(axis=1) - 1).clip(0).sum()),
        num_tokens=int(is_row.sum()),
        num_unattended=int(unattended.sum()),
        num_source_tokens=int(is_word.sum()),
        num_forward=int(((np.diff(array.argmax(axis=2), axis=1) >= 0) & is_neighbor).sum()),
        overlap=float((np.minimum(counted[:, :-1], counted[:, 1:]).sum(axis=2) * is_neighbor).sum()),
        num_neighbors=int(is_neighbor.sum()),
    )


def _centrality(source_lengths: Integers, target_lengths: Integers, shape: tuple[int, ...]) -> Floats:
    """Return 1 on the diagonal of each sentence, and less with the distance from it, 0 at its maximum in a row.

    Zhang, Loweimi, Bell and Renals, "On the usefulness of self-attention for automatic speech recognition with
    Transformers", 2021, for as many columns as rows; here the diagonal leads from the first tokens to the last.
    """
    last = source_lengths[:, None, None] - 1
    middle = np.arange(shape[1])[None, :, None] * last / np.maximum(target_lengths - 1, 1)[:, None, None]
    distance = np.abs(np.arange(shape[2]) - middle)
    return (1 - distance / np.maximum(np.maximum(middle, last - middle), 1)).clip(0)


def _normalized_entropy(weights: Floats, source_lengths: Integers) -> float:
    """Return the sum of the entropies, each divided by its maximum; 0 for a single token."""
    logarithms = np.log(np.where(weights > 0, weights, 1.0))
    entropies = -(weights * logarithms).sum(axis=(1, 2))
    maximum = np.log(np.maximum(source_lengths, 2))
    return float((entropies / maximum).sum())
