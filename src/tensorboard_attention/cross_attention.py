"""Attention as encoder-decoder models of Hugging Face return it. Imports neither them nor torch."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorboard_attention.colours import Floats
from tensorboard_attention.writer import array_of


def cross_attention(attentions: Any, sequence: int = 0, beam_indices: Any = None) -> Floats:
    """Weights of all heads of one sequence, as `add_attention` takes them.

    Padding is in them: cut them as the tokens, ``[..., :len(target_tokens), :len(source_tokens)]``.

    Args:
        attentions: ``output.cross_attentions`` with ``output_attentions=True``, of ``forward``: a
            tuple over layers of (B, H, T, S); or of ``generate``, which also needs
            ``return_dict_in_generate=True``: a tuple over steps of such tuples.
        sequence: its place in the batch; of ``generate``, in ``output.sequences``, whose first
            token is where the decoder starts, and no row of the weights.
        beam_indices: ``output.beam_indices`` of a search with several beams.

    Returns:
        (layers, heads, target, source).
    """
    if hasattr(attentions[0], "shape"):
        return _of_layers(attentions, sequence)
    rows = [sequence] * len(attentions)
    if beam_indices is not None:
        rows = [int(row) for row in beam_indices[sequence] if row >= 0]
    steps = zip(attentions, rows, strict=False)  # shorter sequences have ended before
    # without a cache a step has the rows of all before it, too
    return np.concatenate([_of_layers(step, row)[..., -1:, :] for step, row in steps], axis=2)


def _of_layers(layers: Sequence[Any], row: int) -> Floats:
    return np.stack([array_of(layer[row]) for layer in layers])
