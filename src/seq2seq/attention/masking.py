"""Attention weights from scores: softmax and sparsemax over the real keys; the weight of padding is exactly zero."""

from collections.abc import Callable

import torch
from torch import Tensor

Lengths = Tensor | None
"""Number of real keys, which come first: per sequence (B,) or per query (B, Q); None: all keys are real."""

Normalizer = Callable[..., Tensor]
"""Function from scores to weights that sum to 1, with the arguments of `masked_softmax`."""


def length_mask(valid_lengths: Tensor, num_keys: int) -> Tensor:
    """Return the mask of real keys for given lengths.

    Args:
        valid_lengths: Number of real keys (…).
        num_keys: Number S of keys, including padding.

    Returns:
        Mask (…, S), True on the first `valid_lengths` keys.
    """
    positions = torch.arange(num_keys, device=valid_lengths.device)
    return positions < valid_lengths.unsqueeze(-1)


def masked_softmax(scores: Tensor, valid_lengths: Lengths = None, *, mask: Tensor | None = None) -> Tensor:
    """Compute the softmax over the real keys of each query.

        w_j = exp(s_j) / sum of exp(s_i) over the real keys i,  and w_j = 0 if j is padding

    A query without real keys has weights and gradients of zero. Scores of padding have no effect, even if they are
    infinite or NaN.

    Args:
        scores: Scores (B, Q, S) of any floating-point type; not modified.
        valid_lengths: Number of real keys, which come first: (B,) or (B, Q); None: all keys are real.
        mask: True on real keys, of a shape that broadcasts to the scores, such as (B, 1, S).

    Returns:
        Weights (B, Q, S).

    Raises:
        ValueError: Both `valid_lengths` and `mask` are given.
    """
    filled, real = only_real(scores, valid_lengths, mask)
    weights = filled.softmax(dim=-1)
    return weights if real is None else weights.masked_fill(~real, 0.0)


def only_real(
    scores: Tensor, valid_lengths: Lengths = None, mask: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Replace the scores of padding by minus infinity.

    The scores of a query without real keys become zeros, so that its softmax is not NaN. Arguments and errors as
    in `masked_softmax`.

    Returns:
        The scores, and the mask of real keys, both (B, Q, S); the mask is None if no mask or lengths are given.
    """
    if valid_lengths is not None:
        if mask is not None:
            raise ValueError("give valid_lengths or mask, not both")
        rows = valid_lengths.unsqueeze(1) if valid_lengths.ndim == 1 else valid_lengths
        mask = length_mask(rows, scores.shape[-1])
    if mask is None:
        return scores, None
    real = mask.expand_as(scores)
    has_key = real.any(dim=-1, keepdim=True)
    fill = torch.zeros_like(has_key, dtype=scores.dtype).masked_fill(has_key, -torch.inf)
    return torch.where(real, scores, fill), real


def attention_weights(
    scores: Tensor,
    valid_lengths: Lengths = None,
    *,
    mask: Tensor | None = None,
    normalizer: Normalizer = masked_softmax,
) -> Tensor:
    """Compute weights in float32 or float64 with a normalizer, `masked_softmax` or `sparsemax`.

    Scores in half precision are converted to float32 first: in half precision, the weights of many keys do not sum to
    one. Other arguments and errors as in `masked_softmax`.
    """
    precise = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return normalizer(precise, valid_lengths, mask=mask)


def sparsemax(scores: Tensor, valid_lengths: Lengths = None, *, mask: Tensor | None = None) -> Tensor:
    """Compute sparsemax over the real keys of each query; many weights are exactly zero.

        w = argmin over p of |p - s|^2, p >= 0 and sum of p_j = 1,  which is  w_j = max(s_j - c, 0)
        c = (s_(1) + ... + s_(k) - 1) / k,  k the maximum with 1 + k s_(k) > s_(1) + ... + s_(k)

    with s_(1) the largest score, s_(2) the second largest. Martins and Astudillo, "From softmax to sparsemax: a
    sparse model of attention and multi-label classification", 2016. Computed exactly, by sorting, in O(S log S). A
    score that is less than the maximum by 1 or more has the weight 0. Only scores with nonzero weights have gradients.
    Arguments, padding and errors as in `masked_softmax`.
    """
    filled, real = only_real(scores, valid_lengths, mask)
    # a constant added to all scores does not change the weights; subtracting the maximum reduces rounding errors
    shifted = filled - filled.detach().amax(dim=-1, keepdim=True)
    ordered = shifted.sort(dim=-1, descending=True).values
    excess = ordered.cumsum(dim=-1) - 1
    ranks = torch.ones_like(ordered).cumsum(dim=-1)
    num_kept = (ranks * ordered > excess).sum(dim=-1, keepdim=True)
    threshold = excess.gather(-1, num_kept - 1) / num_kept
    weights = (shifted - threshold).clamp(min=0)
    return weights if real is None else weights.masked_fill(~real, 0.0)


NORMALIZERS: dict[str, Normalizer] = {"softmax": masked_softmax, "sparsemax": sparsemax}
