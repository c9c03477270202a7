"""BLEU of compared groups on short and on long sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seq2seq.evaluation.bleu_statistics import bleu_of
from seq2seq.experiments.comparison import spread

SHARES = (0.25, 0.5, 0.75, 0.9)
"""Of the sentences: where a class of lengths ends."""


@dataclass(frozen=True, slots=True)
class ByLength:
    """What was found, shortest sentences first.

    Attributes:
        titles: of the classes.
        lengths: mean words of their source sentences.
        scores: BLEU of each group's runs (seeds, classes), by label.
    """

    titles: Sequence[str]
    lengths: NDArray
    scores: Mapping[str, NDArray]

    def rows(self) -> list[dict[str, str]]:
        """A row for each group, by column."""
        return [
            {"group": label}
            | {
                title: spread(list(of_class))
                for title, of_class in zip(self.titles, scores.T, strict=True)
            }
            for label, scores in self.scores.items()
        ]


def by_length(sources: Sequence[str], statistics: Mapping[str, NDArray]) -> ByLength:
    """Scores in classes of sentences by the words of the source, as white space separates them.

    Args:
        sources: what was translated.
        statistics: what `significance.statistics_of` gives of each group, by label.
    """
    words = np.array([len(source.split()) for source in sources])
    # the greatest length of each class but the last
    ends = np.unique(np.quantile(words, SHARES, method="lower"))
    classes = np.searchsorted(ends, words)
    members = [classes == number for number in np.unique(classes)]
    return ByLength(
        [f"{words[each].min()} to {words[each].max()} words" for each in members],
        np.array([words[each].mean() for each in members]),
        {
            label: np.stack([bleu_of(of_all[:, each].sum(axis=1)) for each in members], axis=1)
            for label, of_all in statistics.items()
        },
    )
