"""What a search returns, and what it searches with."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from seq2seq.models.seq2seq import Seq2Seq

Models = Seq2Seq | Sequence[Seq2Seq]
"""A model, or the members of an ensemble, which must have the same vocabularies."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation found by a search.

    Attributes:
        ids: Target token ids, ending with ``<eos>`` unless the maximum length was reached.
        score: Natural logarithm of the probability of the ids given the source.
        weights: Attention weights (len(ids), source length) on the CPU; (len(ids), 0) for a model without attention.
        heads: Attention weights of each head (heads, len(ids), source length), where several layers attend to the source
            (layers, heads, len(ids), source length), see `seq2seq.decoding.forced`; None if they were not requested or
            there is a single head.
    """

    ids: tuple[int, ...]
    score: float
    weights: Tensor
    heads: Tensor | None = None
