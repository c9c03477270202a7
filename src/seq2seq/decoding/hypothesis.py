"""What a search finds."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation as found by a search.

    Attributes:
        ids: target token ids, ``<eos>`` included unless the length bound came first.
        score: natural log-probability of the ids given the source.
        weights: attention probabilities (len(ids), source length), on the CPU; (len(ids), 0) of a
            model without attention.
        heads: the weights of each of several heads (heads, len(ids), source length), see
            `seq2seq.decoding.heads`; None where nobody asked, or where there is one.
    """

    ids: tuple[int, ...]
    score: float
    weights: Tensor
    heads: Tensor | None = None
