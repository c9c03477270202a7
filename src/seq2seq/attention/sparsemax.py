"""Sparsemax, which takes the place of the softmax: many weights are exactly zero."""

import torch
from torch import Tensor

from seq2seq.attention.masking import Lengths, mask_scores


def sparsemax(scores: Tensor, valid_lengths: Lengths = None, *, mask: Tensor | None = None) -> Tensor:
    """Compute sparsemax over the real keys of each query; many weights are exactly zero.

        w = argmin over p of |p - s|^2, p >= 0 and sum of p_j = 1,  which is  w_j = max(s_j - c, 0)
        c = (s_(1) + ... + s_(k) - 1) / k,  k the maximum with 1 + k s_(k) > s_(1) + ... + s_(k)

    with s_(1) the largest score, s_(2) the second largest. Martins and Astudillo, "From softmax to sparsemax: a
    sparse model of attention and multi-label classification", 2016. Computed exactly, by sorting, in O(S log S). A
    score that is less than the maximum by 1 or more has the weight 0. Only scores with nonzero weights have gradients.
    Arguments, type, padding and errors as in `masked_softmax`.
    """
    scores, is_padding = mask_scores(scores, valid_lengths, mask)
    # a constant added to all scores does not change the weights; subtracting the maximum reduces rounding errors
    shifted = scores - scores.detach().amax(dim=-1, keepdim=True)
    ordered = shifted.sort(dim=-1, descending=True).values
    excess = ordered.cumsum(dim=-1) - 1
    ranks = torch.ones_like(ordered).cumsum(dim=-1)
    num_kept = (ranks * ordered > excess).sum(dim=-1, keepdim=True).clamp(min=1)
    threshold = excess.gather(-1, num_kept - 1) / num_kept
    weights = (shifted - threshold).clamp(min=0)
    return weights if is_padding is None else weights.masked_fill(is_padding, 0.0)
