"""Scores that know what has been attended to already.

    a_tj = w^T tanh(W_q q_t + W_k k_j + v C_tj)
    C_tj = (w_1j + ... + w_{t-1,j}) / F_j,  F_j = 2 sigmoid(u^T k_j)

Tu, Lu, Liu, Liu and Li, "Modeling coverage for neural machine translation", 2016: their linguistic
coverage. C_j is how much of token j has been translated, F_j its fertility: how many target words
it makes, at most two (their N). So a token that is done is told from one that is still needed. (The
paper's neural coverage keeps a vector and a GRU for each token; this keeps one number.)
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.attention.additive import AdditiveScore
from seq2seq.model.precision import at_least_float32

GREATEST_FERTILITY = 2
"""Target words of a source token at most: N of the paper, and its value there."""


class CoverageScore(nn.Module):
    """The score above; what it projects of a key is W_k k and, in a last column, F.

    Args:
        score: an additive score of the query and each key.
        key_size: size of a key.
    """

    def __init__(self, score: AdditiveScore, key_size: int) -> None:
        super().__init__()
        self.score = score
        self.coverage_weight = nn.Parameter(torch.empty_like(score.score_weight))
        bound = len(score.score_weight) ** -0.5
        nn.init.uniform_(self.coverage_weight, -bound, bound)
        self.fertility = nn.Linear(key_size, 1, bias=False)

    def project_keys(self, keys: Float[Tensor, "B S K"]) -> Float[Tensor, "B S A1"]:
        """W_k k and F."""
        fertility = GREATEST_FERTILITY * at_least_float32(self.fertility(keys)).sigmoid()
        return torch.cat([self.score.project_keys(keys), fertility], dim=-1)

    def forward(
        self,
        queries: Float[Tensor, "B K Q"],
        projected_keys: Float[Tensor, "B S A1"],
        total: Float[Tensor, "B K S"],
    ) -> Float[Tensor, "B K S"]:
        """The scores: each hypothesis has keys of its own, which hold what it has covered."""
        coverage = total / projected_keys[..., -1].unsqueeze(1)
        covered = coverage.unsqueeze(-1) * self.coverage_weight
        own = (projected_keys[..., :-1].unsqueeze(1) + covered).flatten(0, 1)
        return self.score(queries.flatten(0, 1).unsqueeze(1), own, own).view_as(total)
