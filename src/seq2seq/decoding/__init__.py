"""Searches, translation of text, forced decoding, and questions to a model's attention.

What a configuration names is here, and does not load PyTorch.
"""

from typing import Literal, get_args

PenaltyName = Literal["none", "average", "gnmt"]
"""See `seq2seq.decoding.search.LengthPenalty`."""

PENALTIES: tuple[str, ...] = get_args(PenaltyName)
"""Their names."""

MAX_BEAM = 100_000
"""Maximum size of a beam."""
