"""The decoder's attention."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.attention.scores import Score
from seq2seq.model.memory import Memory, State


class ScoredAttention(nn.Module):
    """Attention by a score of the query and each key alone; it remembers nothing between steps.

        w = softmax over the real j of score(q, k_j),  c = sum over j of w_j m_j

    The softmax is computed in float32 at least.

    Args:
        score: how well a query and a key go together, see `seq2seq.attention.scores.Score`.
        dropout: probability of leaving out a weight in training. It acts on the mean only: the
            weights returned are those before dropout, and sum to one.
    """

    def __init__(self, score: Score, dropout: float = 0.0) -> None:
        super().__init__()
        self.score = score
        self.dropout = nn.Dropout(dropout)

    def remember(self, keys: Float[Tensor, "B S K"]) -> Tensor:
        """The keys as the score projects them."""
        return self.score.project_keys(keys)

    def initial_state(self, memory: Memory) -> State:  # noqa: ARG002
        """Nothing."""
        return ()

    def attend(
        self, query: Float[Tensor, "N Q"], memory: Memory, state: State
    ) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"], State]:
        """Context and weights; N = B K rows, those of a sentence beside each other."""
        queries = query.unflatten(0, (len(memory.states), -1))
        scores = self.score(queries, memory.keys, memory.projected_keys)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        scores = scores.masked_fill(~memory.source_is_token.unsqueeze(1), -torch.inf)
        weights = scores.softmax(dim=-1)
        context = self.dropout(weights.to(memory.states.dtype)) @ memory.states
        return context.flatten(0, 1), weights.flatten(0, 1), state
