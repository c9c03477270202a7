"""Attention weights from scores: the softmax over the real keys; the weight of padding is exactly zero."""

import torch
from torch import Tensor

Lengths = Tensor | None
"""Number of real keys, which come first: per sequence (B,) or per query (B, Q); None: all keys are real."""


def length_mask(valid_lengths: Tensor, num_keys: int) -> Tensor:
    """Return a mask (…, S) that is True on the first `valid_lengths` (…) of S = `num_keys` keys, the real ones."""
    positions = torch.arange(num_keys, device=valid_lengths.device)
    return positions < valid_lengths.unsqueeze(-1)


def masked_softmax(scores: Tensor, valid_lengths: Lengths = None, *, mask: Tensor | None = None) -> Tensor:
    """Compute the softmax over the real keys of each query.

        w_j = exp(s_j) / sum of exp(s_i) over the real keys i,  and w_j = 0 if j is padding

    Examples:
        >>> masked_softmax(torch.zeros(1, 2, 3), torch.tensor([2]))  # 1 sentence, 2 queries, 3 keys of which 2 are real
        tensor([[[0.5000, 0.5000, 0.0000],
                 [0.5000, 0.5000, 0.0000]]])

    A query without real keys has weights and gradients of zero. Scores of padding have no effect, even if they are
    infinite or NaN.

    Args:
        scores: Scores (B, Q, S) of any floating-point type; not modified.
        valid_lengths: Number of real keys, which come first: (B,) or (B, Q); None: all keys are real.
        mask: The same as True on real keys, of a shape that broadcasts to the scores, such as (B, 1, S).

    Returns:
        Weights (B, Q, S) in float32 or float64: in half precision, the weights of many keys do not sum to one.
    """
    scores, is_padding = mask_scores(scores, valid_lengths, mask)
    weights = scores.softmax(dim=-1)
    return weights if is_padding is None else weights.masked_fill(is_padding, 0.0)  # NaN if no key is real


def mask_scores(scores: Tensor, valid_lengths: Lengths, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Convert scores to at least float32, and replace those of padding by minus infinity.

    Returns:
        The scores (B, Q, S), and the mask of padding, of a shape that broadcasts to them; None if there is no padding.
    """
    scores = at_least_float32(scores)
    if valid_lengths is not None:
        if mask is not None:
            raise ValueError("give valid_lengths or mask, not both")
        rows = valid_lengths.unsqueeze(1) if valid_lengths.ndim == 1 else valid_lengths
        mask = length_mask(rows, scores.shape[-1])
    if mask is None:
        return scores, None
    return scores.masked_fill(~mask.expand_as(scores), -torch.inf), ~mask


def at_least_float32(tensor: Tensor) -> Tensor:
    """Convert a tensor of half precision to float32; return others unchanged."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
