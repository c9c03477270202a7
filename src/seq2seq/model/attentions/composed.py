"""An attention put together from parts: how keys are scored, and how scores become weights."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2seq.attention.masking import Normaliser, attention_weights
from seq2seq.attention.scores import Score
from seq2seq.model.attentions.coverage import CoverageScore
from seq2seq.model.memory import Memory, State
from seq2seq.model.precision import at_least_float32


@dataclass(frozen=True, slots=True)
class Past:
    """What an attention remembers, whatever its parts read of it.

    Attributes:
        step: number of the present step, from 0 on (B, K).
        latest: weights of the step before; before the first, one for the first token (B, K, S).
        total: sum of the weights of all steps before (B, K, S).
    """

    step: Float[Tensor, "B K"]
    latest: Float[Tensor, "B K S"]
    total: Float[Tensor, "B K S"]


class ComposedAttention(nn.Module):
    """Attention in the three steps that all have in common.

        a_t = score(q_t, k, past),  w_t = weighing(a_t, q_t, past),  c_t = sum over j of w_tj m_j

    Args:
        score: how well a query and a key go together; that of coverage is given the past, too.
        weighing: makes weights (B, K, S), zero on padding, of scores (B, K, S) in float32 at least,
            queries (B, K, Q), the mask of real tokens (B, 1, S) and the `Past`.
        dropout: as in `seq2seq.model.attention.ScoredAttention`.
    """

    def __init__(self, score: Score | CoverageScore, weighing: nn.Module, dropout: float) -> None:
        super().__init__()
        self.score, self.weighing = score, weighing
        self.dropout = nn.Dropout(dropout)

    def remember(self, keys: Float[Tensor, "B S K"]) -> Tensor:
        """The keys as the score projects them."""
        return self.score.project_keys(keys)

    def initial_state(self, memory: Memory) -> State:
        """A `Past` of nothing."""
        nothing = at_least_float32(torch.zeros_like(memory.states[..., 0]))
        first = nothing.clone()
        first[:, 0] = 1
        return nothing[:, 0], first, nothing

    def attend(
        self, query: Float[Tensor, "N Q"], memory: Memory, state: State
    ) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"], State]:
        """Context and weights; N = B K rows, those of a sentence beside each other."""
        queries, *parts = (each.unflatten(0, (len(memory.states), -1)) for each in (query, *state))
        past = Past(*parts)
        if isinstance(self.score, CoverageScore):
            scores = self.score(queries, memory.projected_keys, past.total)
        else:
            scores = self.score(queries, memory.keys, memory.projected_keys)
        is_token = memory.source_is_token.unsqueeze(1)
        weights = self.weighing(at_least_float32(scores), queries, is_token, past)
        context = self.dropout(weights.to(memory.states.dtype)) @ memory.states
        new = (past.step + 1, weights, past.total + weights)
        context, weights, *new_state = (each.flatten(0, 1) for each in (context, weights, *new))
        return context, weights, tuple(new_state)


class GlobalWeighing(nn.Module):
    """All real tokens are looked at."""

    def __init__(self, normaliser: Normaliser) -> None:
        super().__init__()
        self._normaliser = normaliser

    def forward(
        self,
        scores: Float[Tensor, "B K S"],
        queries: Float[Tensor, "B K Q"],  # noqa: ARG002
        is_token: Bool[Tensor, "B 1 S"],
        past: Past,  # noqa: ARG002
    ) -> Float[Tensor, "B K S"]:
        """The normalised scores."""
        return attention_weights(scores, mask=is_token, normaliser=self._normaliser)
