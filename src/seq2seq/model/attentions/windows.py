"""Attention within a window of D tokens on either side of a place p_t: local attention.

    local-m:  p_t = t, from 0 on
    local-p:  p_t = S sigmoid(v^T tanh(W q_t)),  and to the scores - (j - p_t)^2 / (2 s^2) is added
    w_t = normalised scores of the real j with |j - p_t| <= D

with S the number of real source tokens and s = D / 2. Luong, Pham and Manning, "Effective
approaches to attention-based neural machine translation", 2015. Two differences to the paper: past
the end of the source the window of local-m stays at the last token, so that it is never empty; and
the Gaussian is part of the scores, so that the weights of local-p sum to one (the paper multiplies
the weights by it and does not normalise them again).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2seq.attention.masking import Normaliser, attention_weights
from seq2seq.model.attentions.composed import Past
from seq2seq.model.precision import at_least_float32


class WindowWeighing(nn.Module):
    """Normalised scores of a window: that of local-m, or with `query_size` that of local-p.

    Args:
        normaliser: of the scores within the window.
        half_width: D, tokens on either side, at least 1.
        query_size: size of a query, and of the layer that predicts the place; None for local-m.
    """

    def __init__(self, normaliser: Normaliser, half_width: int, query_size: int | None) -> None:
        super().__init__()
        self._normaliser, self._half_width = normaliser, half_width
        self.place = None if query_size is None else _place(query_size)

    def forward(
        self,
        scores: Float[Tensor, "B K S"],
        queries: Float[Tensor, "B K Q"],
        is_token: Bool[Tensor, "B 1 S"],
        past: Past,
    ) -> Float[Tensor, "B K S"]:
        """The weights."""
        length = is_token.sum(dim=-1, keepdim=True)
        places = torch.arange(scores.shape[-1], dtype=scores.dtype, device=scores.device)
        if self.place is None:
            distance = places - torch.minimum(past.step.unsqueeze(-1), length - 1)
        else:
            distance = places - length * at_least_float32(self.place(queries)).sigmoid()
            scores = scores - 2 * (distance / self._half_width).square()
        is_near = is_token & (distance.abs() <= self._half_width)
        return attention_weights(scores, mask=is_near, normaliser=self._normaliser)


def _place(query_size: int) -> nn.Sequential:
    """v^T tanh(W q)."""
    layers = nn.Linear(query_size, query_size, bias=False), nn.Linear(query_size, 1, bias=False)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1])
