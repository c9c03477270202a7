"""Searches, translation of text, forced decoding, and questions to a model's attention.

What a configuration names is here, and does not load PyTorch.
"""

from typing import Annotated, Literal

from annotated_types import Ge, Le

PenaltyName = Literal["none", "average", "gnmt"]
"""See `seq2seq.decoding.search.LengthPenalty`."""

BeamSize = Annotated[int, Ge(1), Le(100_000)]
"""Number of hypotheses of a search; 1: greedy."""
