"""Attention: the mean of values, weighted by how well their keys fit a query.

    a_j = a(q, k_j),   w = masked softmax of a,   c = sum over j of w_j v_j

with query q, keys k, values v, scores a, weights w and context c. In a translation model, the query of a step is the
state of the decoder, and keys and values are computed from the encoder's states m_j of the source tokens.

Shapes: B sentences, Q queries of a sentence (in a search one per hypothesis), N = B Q, S keys of a sentence (the source
length), M size of an encoder state, A size of a hidden layer, d_q and d_k sizes of a query and a key, h heads.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import torch
from annotated_types import Ge, Le, Lt
from torch import Tensor, nn

from seq2seq.attention.masking import at_least_float32, masked_softmax
from seq2seq.attention.other_scores import check_score
from seq2seq.attention.sparsemax import sparsemax

NORMALIZERS = {"softmax": masked_softmax, "sparsemax": sparsemax}

State = tuple[Tensor, ...]
"""What a decoder carries from step to step: tensors whose first dimension is the row (N), a sentence or hypothesis. Recurrent
decoders have a tensor for each layer, and then the state of the attention, which is () in most kinds of attention."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Encoded source sentences, the constant input of all steps of a decoder.

    Attributes:
        states: Encoder outputs m_j, the values of the attention (B, S, M).
        keys: The keys that `Attention.project_keys` returns, such as W_k m_j, computed once per sentence (B, S, …).
        source_is_token: True on real tokens (B, S).
        summary: Summary of each sentence by the encoder (B, F), from which the decoder computes its first state.
    """

    states: Tensor
    keys: Tensor
    source_is_token: Tensor
    summary: Tensor

    def select(self, rows: Tensor | slice) -> "Memory":
        """Return the memory of the sentences with the indices `rows`, in this order."""
        states = self.states[rows]
        keys = states if self.keys is self.states else self.keys[rows]
        return Memory(states, keys, self.source_is_token[rows], self.summary[rows])


class AdditiveScore(nn.Module):
    """Additive score: a feed-forward network with one hidden layer, without biases.

        a(q, k) = w_v^T tanh(W_q q + W_k k),  W_q (A, d_q), W_k (A, d_k), w_v (A)

    Examples:
        >>> score = AdditiveScore(query_size=4, key_size=6, hidden_size=8)
        >>> score(torch.randn(2, 1, 4), torch.randn(2, 5, 6)).shape  # 2 sentences, 1 query and 5 keys each
        torch.Size([2, 1, 5])

    Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and translate", 2015. Queries
    and keys may differ in size. `hidden_size` is A.
    """

    needs_equal_sizes = False

    def __init__(
        self, query_size: int, key_size: int, hidden_size: Annotated[int, Ge(1), Le(2**24)] = 128
    ) -> None:
        super().__init__()
        self.query_projection = nn.Linear(query_size, hidden_size, bias=False)  # W_q
        self.key_projection = nn.Linear(key_size, hidden_size, bias=False)  # W_k
        bound = 1 / math.sqrt(hidden_size)
        self.score_weight = nn.Parameter(torch.empty(hidden_size).uniform_(-bound, bound))  # w_v

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return W_k k (B, S, A)."""
        return self.key_projection(keys)

    def forward(self, queries: Tensor, keys: Tensor, projected_keys: Tensor | None = None) -> Tensor:
        """Return the scores (B, Q, S); `projected_keys` is the result of `project_keys(keys)`, or None."""
        keys = self.project_keys(keys) if projected_keys is None else projected_keys  # W_k k
        hidden = torch.tanh(self.query_projection(queries).unsqueeze(2) + keys.unsqueeze(1))  # (B, Q, S, A)
        return (at_least_float32(hidden) * self.score_weight).sum(dim=-1)  # w_v · hidden


class Attention(nn.Module):
    """Attention of a decoder over a `Memory`: score, masked softmax, weighted mean of the encoder states.

    Examples:
        >>> attention = Attention(query_size=4, memory_size=6, score=AdditiveScore)
        >>> states, is_token = torch.randn(1, 3, 6), torch.tensor([[True, True, False]])  # 1 sentence, 2 of 3 tokens real
        >>> memory = Memory(states, attention.project_keys(states), is_token, summary=states[:, 0])
        >>> context, weights, _ = attention(torch.randn(1, 4), memory, attention.initial_state(memory))
        >>> context.shape, weights.shape, weights[0, 0, 2].item()
        (torch.Size([1, 6]), torch.Size([1, 1, 3]), 0.0)

    Args:
        query_size: Size d_q of a query.
        memory_size: Size M of an encoder state, which is projected to d_q if the score needs queries and keys of one size.
        score: Factory of the score (a class or `functools.partial`), called with `query_size` and `key_size`.
        alignment: Factory of local or monotonic attention, which compute the weights in place of the normalizer alone,
            called with `query_size` and `normalizer`, see `seq2seq.attention.other_kinds`; None: neither.
        normalizer: ``softmax`` or ``sparsemax``.
        dropout: Dropout probability of the weights. The returned weights are those before dropout.
    """

    def __init__(
        self,
        query_size: int,
        memory_size: int,
        *,
        score: Callable[..., nn.Module],
        alignment: Callable[..., nn.Module] | None = None,
        normalizer: str = "softmax",
        dropout: Annotated[float, Ge(0), Lt(1)] = 0.0,
    ) -> None:
        super().__init__()
        if normalizer not in NORMALIZERS:
            raise ValueError(f"normalizer={normalizer}: choose one of {', '.join(NORMALIZERS)}")
        self.normalizer = normalizer
        self.score = score(query_size=query_size, key_size=memory_size)
        is_projected = getattr(self.score, "needs_equal_sizes", False) and query_size != memory_size
        project = partial(nn.Linear, memory_size, query_size, bias=False) if is_projected else nn.Identity
        self.key_projection = project()  # the identity for `AdditiveScore`, which has W_k itself
        if not type(self.score).__module__.startswith("seq2seq."):  # a score of the user's own
            check_score(self.score, query_size, query_size if is_projected else memory_size)
        sizes = {"query_size": query_size, "normalizer": normalizer}
        self.alignment = None if alignment is None else alignment(**sizes)
        self.dropout = nn.Dropout(dropout)
        # of kinds that depend on the weights of earlier steps: coverage, local and monotonic attention; else None
        kind: Any = self.alignment or self.score
        self.history_class = kind.history_class if alignment else getattr(kind, "history_class", None)

    def project_keys(self, states: Tensor) -> Tensor:
        """Return the keys of encoder states (B, S, M), projected by the score (B, S, …), once for all steps."""
        keys = self.key_projection(states)
        project = getattr(self.score, "project_keys", None)
        return keys if project is None else project(keys)

    def initial_state(self, memory: Memory) -> State:
        """Return the state before the first step, () if score and alignment do not depend on earlier steps."""
        return () if self.history_class is None else self.history_class.first_state(memory.states)

    def forward(self, query: Tensor, memory: Memory, state: State) -> tuple[Tensor, Tensor, State]:
        """Compute the context of each query (N, d_q), those of a sentence beside each other.

        Returns:
            Contexts (N, M), weights (N, 1, S) in float32 or float64, and the new state, () in most kinds of attention.
        """
        queries = query.view(memory.states.shape[0], -1, query.shape[-1])  # (B, Q, d_q)
        is_token, new_state = memory.source_is_token.unsqueeze(1), ()  # (B, 1, S)
        if self.history_class is None:
            # `AdditiveScore` reads the third argument, W_k m_j; scores without `project_keys` read the second
            keys = memory.keys
            scores = self.score(queries, keys, keys)  # (B, Q, S)
            weights = NORMALIZERS[self.normalizer](scores, mask=is_token)
        else:
            weights, new_state = self.history_class.attend(self, queries, memory, is_token, state)
        context = self.dropout(weights.to(memory.states.dtype)) @ memory.states  # (B, Q, M)
        return context.flatten(0, 1), weights.flatten(0, 1).unsqueeze(1), new_state  # one head
