"""Other kinds of attention: coverage, local, monotonic, the mean, multi-head.

`CoverageScore` depends on the weights of the previous steps. `LocalAlignment` and `MonotonicAlignment` replace the
softmax. `MultiHeadAttention` computes several attentions in parallel. Letters as in `seq2seq.attention.attention`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
from annotated_types import Ge, Le, Lt
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from seq2seq.attention.attention import NORMALIZERS, AdditiveScore, Attention, Memory, State
from seq2seq.attention.masking import at_least_float32
from seq2seq.attention.other_scores import UniformScore


@dataclass(frozen=True, slots=True)
class AttentionHistory:
    """Attention weights of the steps before the current step.

    A score or alignment that needs them has an attribute ``history_class = AttentionHistory`` and is called with
    `history`, whose tensors are the state of `Attention`.

    Attributes:
        step: Index of the current step, from 0 (B, Q).
        latest: Weights of the previous step; at step 0, 1 on the first token (B, Q, S).
        total: Sum of the weights of all previous steps (B, Q, S).
    """

    step: Tensor
    latest: Tensor
    total: Tensor

    @staticmethod
    def first_state(states: Tensor) -> State:
        """Return the tensors before the first step, each with B rows, for encoder states (B, S, M)."""
        total = at_least_float32(torch.zeros_like(states[..., 0]))
        latest = total.clone()
        latest[:, 0] = 1
        return total[:, 0], latest, total

    @classmethod
    def attend(
        cls, attention: Attention, queries: Tensor, memory: Memory, is_token: Tensor, state: State
    ) -> tuple[Tensor, State]:
        """Compute the weights (B, Q, S) of an attention that depends on earlier steps, and the state after this step.

        Tensors of the state have N = B Q rows. Other arguments are those of `Attention.forward` and of the alignments.
        """
        history = cls(*(part.view(*queries.shape[:2], *part.shape[1:]) for part in state))
        options = {"history": history} if hasattr(attention.score, "history_class") else {}  # coverage
        scores = at_least_float32(attention.score(queries, memory.keys, memory.keys, **options))
        if attention.alignment is None:
            weights = NORMALIZERS[attention.normalizer](scores, mask=is_token)
        else:
            weights = attention.alignment(scores, queries, is_token, history)
        after = (history.step + 1, weights, history.total + weights)
        return weights, tuple(part.flatten(0, 1) for part in after)


class CoverageScore(nn.Module):
    """Additive score with coverage: it depends on the total weight of each source token in the previous steps.

        a_tj = w^T tanh(W_q q_t + W_k k_j + v C_tj)
        C_tj = (w_1j + ... + w_{t-1,j}) / phi_j,  phi_j = max_fertility * sigmoid(u^T k_j)

    The linguistic coverage of Tu, Lu, Liu, Liu and Li, "Modeling coverage for neural machine translation", 2016.
    phi_j is the fertility of token j: the expected number of its target words.

    Args:
        query_size: Size d_q of a query.
        key_size: Size d_k of a key.
        hidden_size: Size A of the hidden layer.
        max_fertility: Maximum of phi_j.
    """

    needs_equal_sizes, history_class = False, AttentionHistory

    def __init__(
        self,
        query_size: int,
        key_size: int,
        hidden_size: Annotated[int, Ge(1), Le(2**24)] = 128,
        max_fertility: float = 2.0,
    ) -> None:
        super().__init__()
        self.max_fertility = max_fertility
        self.score = AdditiveScore(query_size, key_size, hidden_size)
        bound = hidden_size**-0.5
        self.coverage_weight = nn.Parameter(torch.empty(hidden_size).uniform_(-bound, bound))
        self.fertility = nn.Linear(key_size, 1, bias=False)

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return W_k k, and phi as the last column (B, S, A + 1)."""
        fertility = self.max_fertility * at_least_float32(self.fertility(keys)).sigmoid()
        return torch.cat([self.score.project_keys(keys), fertility], dim=-1)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        projected_keys: Tensor | None = None,
        *,
        history: AttentionHistory,
    ) -> Tensor:
        """Return the scores (B, Q, S), which depend on the total of the weights in the history."""
        projected = self.project_keys(keys) if projected_keys is None else projected_keys
        coverage = history.total / projected[..., -1].unsqueeze(1)
        covered = coverage.unsqueeze(-1) * self.coverage_weight  # (B, Q, S, A)
        keys = (projected[..., :-1].unsqueeze(1) + covered).flatten(0, 1)  # separate for each query
        return self.score(queries.flatten(0, 1).unsqueeze(1), keys, keys).view_as(coverage)


class LocalAlignment(nn.Module):
    """Local attention: weights within a window of D tokens on either side of a position p_t.

        monotonic (local-m):   p_t = t, counted from 0
        predictive (local-p):  p_t = n sigmoid(v^T tanh(W q_t)),  and - (j - p_t)^2 / (2 s^2) is added to
                               the scores
        w_t = softmax (or sparsemax) of the scores over the real tokens j with |j - p_t| <= D

    with n the number of real source tokens and s = D / 2. Luong, Pham and Manning, "Effective approaches
    to attention-based neural machine translation", 2015. Two differences from the paper: the window of local-m does
    not move beyond the last token, so it is never empty; and the Gaussian is added to the scores instead of
    multiplied with the weights, so the weights of local-p sum to one.

    Args:
        query_size: Size of a query, and of the layer that predicts the position.
        normalizer: ``softmax`` or ``sparsemax``.
        window: D, the number of tokens on either side, at least 1.
        predictive: Whether to predict the position from the query (local-p).

    Raises:
        ValueError: `window` is less than 1.
    """

    history_class = AttentionHistory

    def __init__(
        self, query_size: int, normalizer: str = "softmax", *, window: int = 5, predictive: bool = False
    ) -> None:
        super().__init__()
        if window < 1:
            raise ValueError(f"window={window}: a window has at least 1 token on either side")
        self.normalizer, self.window = NORMALIZERS[normalizer], window
        self.place = None
        if predictive:
            self.place = nn.Sequential(
                nn.Linear(query_size, query_size, bias=False), nn.Tanh(), nn.Linear(query_size, 1, bias=False)
            )

    def forward(self, scores: Tensor, queries: Tensor, is_token: Tensor, history: AttentionHistory) -> Tensor:
        """Return the weights (B, Q, S) of scores (B, Q, S), queries (B, Q, d_q) and mask (B, 1, S)."""
        length = is_token.sum(dim=-1, keepdim=True)
        positions = torch.arange(scores.shape[-1], dtype=scores.dtype, device=scores.device)
        if self.place is None:
            distance = positions - torch.minimum(history.step.unsqueeze(-1), length - 1)
        else:
            distance = positions - length * at_least_float32(self.place(queries)).sigmoid()
            scores = scores - 2 * (distance / self.window).square()
        is_near = is_token & (distance.abs() <= self.window)
        return self.normalizer(scores, mask=is_near)


class MonotonicAlignment(nn.Module):
    """Monotonic attention: the attended token moves over the source from left to right only.

    Step t starts at the token of step t - 1. Each token j is selected with probability p_tj, in order; the first
    selected token has all of the weight. Its expectation is

        p_tj = sigmoid(a_tj + r + noise),  w_tj = p_tj sum over i <= j of w_{t-1,i} P_tij
        P_tij = (1 - p_ti) ... (1 - p_{t,j-1}),  w_0 is 1 on the first token

    with a learned offset r. Training uses the expected weights, with standard normal noise, which leads to scores far
    from 0. Otherwise the first token with a_tj + r > 0 is selected, and weights are 0 or 1. If no token is selected,
    weights and context are zero at this step and all later steps. Raffel, Luong, Liu, Weiss and Eck, "Online and
    linear-time attention by enforcing monotonic alignments", 2017.

    Args:
        query_size: Unused; all alignments have this argument.
        normalizer: Unused; all alignments have this argument.
        first_offset: Initial value of r; with -1, a score of 0 has the probability 0.27.
    """

    history_class = AttentionHistory

    def __init__(self, query_size: int, normalizer: str = "softmax", *, first_offset: float = -1.0) -> None:
        super().__init__()
        self.offset = nn.Parameter(torch.tensor(first_offset))

    def forward(self, scores: Tensor, queries: Tensor, is_token: Tensor, history: AttentionHistory) -> Tensor:
        """Return the weights (B, Q, S): expected weights in training, else 1 on the selected token."""
        energies = scores + self.offset
        if self.training:
            return expected_weights(energies + torch.randn_like(energies), history.latest, is_token)
        is_open = (energies > 0) & is_token & (history.latest.cumsum(dim=-1) > 0)
        return (is_open & (is_open.long().cumsum(dim=-1) == 1)).to(scores.dtype)


def expected_weights(energies: Tensor, latest: Tensor, is_token: Tensor) -> Tensor:
    """Return w_t of `MonotonicAlignment` from the logits of p_t and from w_{t-1}, all (B, Q, S).

    P_tij is computed for each pair (i, j) as the exponential of a sum of logarithms. This takes S^2 numbers per
    step, but needs no division by a product that may underflow to zero.
    """
    passed = logsigmoid(-energies).masked_fill(~is_token, 0.0)
    before = passed.cumsum(dim=-1) - passed
    between = before.unsqueeze(-2) - before.unsqueeze(-1)
    is_later = torch.ones_like(between, dtype=torch.bool).triu()
    products = between.masked_fill(~is_later, -torch.inf).exp()
    reached = (latest.unsqueeze(-1) * products).sum(dim=-2)
    return (energies.sigmoid() * reached).masked_fill(~is_token, 0.0)


class MeanAttention(Attention):
    """The same weight for every source token, which nothing normalizes: the baseline for attention.

    Arguments as in `Attention`; the score is `UniformScore`.
    """

    def __init__(
        self, query_size: int, memory_size: int, *, dropout: Annotated[float, Ge(0), Lt(1)] = 0.0
    ) -> None:
        super().__init__(query_size, memory_size, score=UniformScore, dropout=dropout)


class MultiHeadAttention(nn.Module):
    """Multi-head attention: several attentions with separate projections of query, keys and values.

        c = [W_v1 c_1; ...; W_vh c_h],
        c_i and w_i: context and weights of attention i with the query W_qi q and the keys W_ki m

    W_qi (d_q / h, d_q), W_ki (d_q / h, M), W_vi (M / h, M). Vaswani et al., "Attention is all you need", 2017, without
    their output projection, because the decoder projects the context itself.

    Args:
        query_size: Size d_q of a query.
        memory_size: Size M of the encoder's states.
        heads: Number of heads h, at most `query_size` and at most `memory_size`.
        attention: Factory of the attention of a head, called with `query_size` and `memory_size`.

    Raises:
        ValueError: There are too many heads, or none.
    """

    def __init__(
        self,
        query_size: int,
        memory_size: int,
        *,
        heads: Annotated[int, Ge(1), Le(256)] = 4,
        attention: Callable[..., nn.Module],
    ) -> None:
        super().__init__()
        if not 1 <= heads <= min(query_size, memory_size):
            raise ValueError(
                f"heads={heads}: give 1 to {min(query_size, memory_size)}, at most the size of the query "
                f"({query_size}) and of an encoder state ({memory_size})"
            )
        size = query_size // heads
        shares = [len(share) for share in torch.arange(memory_size).tensor_split(heads)]
        self.heads: Any = nn.ModuleList(attention(query_size=size, memory_size=size) for _ in range(heads))
        self.queries = nn.ModuleList(nn.Linear(query_size, size, bias=False) for _ in range(heads))
        self.keys = nn.ModuleList(nn.Linear(memory_size, size, bias=False) for _ in range(heads))
        self.values = nn.ModuleList(nn.Linear(memory_size, share, bias=False) for share in shares)

    def project_keys(self, states: Tensor) -> Tensor:
        """Return the keys of all heads (B, S, h, …)."""
        pairs = zip(self.heads, self.keys, strict=True)
        return torch.stack([head.project_keys(project(states)) for head, project in pairs], dim=2)

    def initial_state(self, memory: Memory) -> State:
        """Return the states of all heads, one after the other."""
        return tuple(part for head in self.heads for part in head.initial_state(memory))

    def forward(self, query: Tensor, memory: Memory, state: State) -> tuple[Tensor, Tensor, State]:
        """Compute the context of each query, see `Attention.forward`; weights (N, h, S)."""
        size = len(state) // len(self.heads)  # tensors in the state of a head
        contexts, weights, new_state = [], [], []
        for index, (head, keys) in enumerate(zip(self.heads, memory.keys.unbind(2), strict=True)):
            head_state = state[index * size : (index + 1) * size]
            context, head_weights, head_state = head(
                self.queries[index](query), replace(memory, keys=keys), head_state
            )
            contexts.append(self.values[index](context))
            weights.append(head_weights)
            new_state.extend(head_state)
        return torch.cat(contexts, dim=-1), torch.cat(weights, dim=1), tuple(new_state)
