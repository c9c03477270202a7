"""Attention that goes over the source from left to right and never back.

Step t begins at the token of the step before. Token by token is chosen with probability p_tj, and
the first that is chosen is attended to, alone:

    p_tj = sigmoid(a_tj + r + noise),  w_tj = p_tj sum over i <= j of w_{t-1,i} P_tij
    P_tij = (1 - p_ti) ... (1 - p_{t,j-1}),  w_0 all on the first token

with r learned. In training these expected weights are used, and normal noise teaches the scores to
be decided; otherwise a token is chosen where a_tj + r > 0, and a weight is one or zero. Where no
token that is left is chosen, nothing is attended to, now and at all later steps: weights and
context are zero. (In training the weights lack the probability of that to a sum of one.) Raffel,
Luong, Liu, Weiss and Eck, "Online and linear-time attention by enforcing monotonic alignments",
2017.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from seq2seq.model.attentions.composed import Past

FIRST_OFFSET = -1.0
"""Of r: at first three tokens of four are passed over, and the source's end is within reach."""

NOISE = 1.0
"""Standard deviation of the noise."""


class MonotonicWeighing(nn.Module):
    """The weights above."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = nn.Parameter(torch.tensor(FIRST_OFFSET))

    def forward(
        self,
        scores: Float[Tensor, "B K S"],
        queries: Float[Tensor, "B K Q"],  # noqa: ARG002
        is_token: Bool[Tensor, "B 1 S"],
        past: Past,
    ) -> Float[Tensor, "B K S"]:
        """Expected weights in training, a single one otherwise."""
        energies = scores + self.offset
        if self.training:
            noisy = energies + NOISE * torch.randn_like(energies)
            return expected_weights(noisy, past.latest, is_token)
        is_open = (energies > 0) & is_token & (past.latest.cumsum(dim=-1) > 0)
        return (is_open & (is_open.cumsum(dim=-1) == 1)).to(scores.dtype)


def expected_weights(
    energies: Float[Tensor, "B K S"],
    latest: Float[Tensor, "B K S"],
    is_token: Bool[Tensor, "B 1 S"],
) -> Float[Tensor, "B K S"]:
    """w_t from the logits of p_t and from w_{t-1}.

    P_tij is a difference of sums of logarithms, each pair (i, j) for itself: nothing is divided by
    a product that may be zero, at the price of S^2 numbers a step.
    """
    passed = logsigmoid(-energies).masked_fill(~is_token, 0.0)
    before = passed.cumsum(dim=-1) - passed
    between = before.unsqueeze(-2) - before.unsqueeze(-1)
    is_later = torch.ones_like(between, dtype=torch.bool).triu()
    products = between.masked_fill(~is_later, -torch.inf).exp()
    reached = (latest.unsqueeze(-1) * products).sum(dim=-2)
    return (energies.sigmoid() * reached).masked_fill(~is_token, 0.0)
