"""From scores to weights: the normalisers by name, the softmax of `masking` among them."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from seq2seq.attention.masking import Lengths, Normaliser, masked_softmax, only_real


def sparsemax(
    scores: Float[Tensor, "B Q K"],
    valid_lengths: Lengths = None,
    *,
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "B Q K"]:
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
    ranks = torch.arange(1, scores.shape[-1] + 1, device=scores.device)
    num_kept = (ranks * ordered > excess).sum(dim=-1, keepdim=True)
    threshold = excess.gather(-1, num_kept - 1) / num_kept
    weights = (shifted - threshold).clamp(min=0)
    return weights if real is None else weights.masked_fill(~real, 0.0)


NORMALISERS: dict[str, Normaliser] = {"softmax": masked_softmax, "sparsemax": sparsemax}
