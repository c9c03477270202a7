"""From scores to weights: softmax and sparsemax over the real keys; padding gets exactly zero."""

from collections.abc import Callable

import torch
from torch import Tensor

Lengths = Tensor | None
"""How many keys are real, from the first on: per sequence, per query, or all of them."""

Normalizer = Callable[..., Tensor]
"""From scores to weights that sum to one, called as `masked_softmax` is."""


def length_mask(valid_lengths: Tensor, num_keys: int) -> Tensor:
    """The mask that says the same as lengths.

    Args:
        valid_lengths: how many keys are real, any shape.
        num_keys: number of keys K, real or not.

    Returns:
        True on the first `valid_lengths` of the K keys; the keys are a new last axis.
    """
    positions = torch.arange(num_keys, device=valid_lengths.device)
    return positions < valid_lengths.unsqueeze(-1)


def masked_softmax(
    scores: Tensor,
    valid_lengths: Lengths = None,
    *,
    mask: Tensor | None = None,
) -> Tensor:
    """Softmax over the keys of each query, leaving out the keys that are not real.

        w_j = exp(s_j) / sum of exp(s_i) over the real keys i,  and w_j = 0 where j is not real

    A query without a real key gets zeros and passes no gradient. What the scores hold on keys
    that are not real has no influence, be it infinite or NaN. Any floating-point type will do.

    Args:
        scores: any real numbers; not written to.
        valid_lengths: how many keys are real, from the first on: (B,), or (B, Q) for lengths that
            differ from query to query. None for all.
        mask: True on real keys, of any shape that broadcasts to the scores: (B, 1, K) for padding.

    Raises:
        ValueError: both `valid_lengths` and `mask` are given.
    """
    filled, real = only_real(scores, valid_lengths, mask)
    weights = filled.softmax(dim=-1)
    return weights if real is None else weights.masked_fill(~real, 0.0)


def only_real(
    scores: Tensor,
    valid_lengths: Lengths = None,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The scores with minus infinity on the keys that are not real, and the mask of those that are.

    A query without a real key gets zeros, so that whatever is made of its scores is a number. The
    mask is None where every key is real. Arguments and errors are those of `masked_softmax`.
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
    """`masked_softmax`, or another normalizer, in float32 at least.

    Half-precision weights of a long row are too coarse to sum to one; scores of such a type are
    converted first. The other arguments and errors are those of `masked_softmax`.
    """
    precise = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return normalizer(precise, valid_lengths, mask=mask)


def sparsemax(
    scores: Tensor,
    valid_lengths: Lengths = None,
    *,
    mask: Tensor | None = None,
) -> Tensor:
    """The weights nearest to the scores; many of them are exactly zero.

        w = argmin over p of |p - s|^2, p >= 0 and sum of p_j = 1,  which is  w_j = max(s_j - c, 0)
        c = (s_(1) + ... + s_(k) - 1) / k,  k the greatest with 1 + k s_(k) > s_(1) + ... + s_(k)

    with s_(1) the greatest score, s_(2) the second. Martins and Astudillo, "From softmax to
    sparsemax: a sparse model of attention and multi-label classification", 2016. Exact, by sorting:
    K log K. Scores that differ by 1 or more leave the smaller one nothing; the gradient reaches
    only scores with a weight. Arguments and errors are those of `masked_softmax`, as is what
    becomes of keys that are not real.
    """
    filled, real = only_real(scores, valid_lengths, mask)
    # weights do not change with a constant, rounding does
    shifted = filled - filled.detach().amax(dim=-1, keepdim=True)
    ordered = shifted.sort(dim=-1, descending=True).values
    excess = ordered.cumsum(dim=-1) - 1
    ranks = torch.ones_like(ordered).cumsum(dim=-1)
    num_kept = (ranks * ordered > excess).sum(dim=-1, keepdim=True)
    threshold = excess.gather(-1, num_kept - 1) / num_kept
    weights = (shifted - threshold).clamp(min=0)
    return weights if real is None else weights.masked_fill(~real, 0.0)


NORMALIZERS: dict[str, Normalizer] = {"softmax": masked_softmax, "sparsemax": sparsemax}
