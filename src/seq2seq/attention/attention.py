"""The attention of a decoder: the context of a query over the encoder's states.

    a_tj = score(q_t, k_j),  w_t = alignment(a_t) over the real tokens j,  c_t = sum over j of w_tj m_j

A score compares a query with each key, an alignment makes weights of the scores. Both are chosen by
themselves: any score goes with softmax, sparsemax, a window (`LocalAlignment`) or left-to-right choices
(`MonotonicAlignment`); `CoverageScore` also knows what was attended to before; `MultiHeadAttention` runs
several attentions beside each other.

Shapes: B sentences, K hypotheses of each, N = B K rows with those of a sentence beside each other, S source
length, M memory size, Q query size, A attention size.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seq2seq.attention.masking import NORMALIZERS, attention_weights
from seq2seq.errors import InputError

State = tuple[Tensor, ...]
"""What is kept from step to step: tensors whose first dimension is the hypothesis (N)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Encoded source sentences: what stays the same at all steps of a decoder.

    Attributes:
        states: Encoder outputs, the values of the attention (B, S, M).
        keys: What the attention compares with queries, projected once a sentence (B, S, …).
        source_is_token: True on real tokens (B, S).
        summary: The encoder's summary of each sentence (B, F).
        masks: Variational dropout, one mask a sentence for each place (B, …); None where there is none.
        projected: Whether the states are those of `seq2seq.models.decoder.Decoder.for_search`.
    """

    states: Tensor
    keys: Tensor
    source_is_token: Tensor
    summary: Tensor
    masks: tuple[Tensor | None, ...] = ()
    projected: bool = False

    def select(self, rows: Tensor) -> "Memory":
        """Return the memory of some of the sentences, in the order of `rows`."""
        states = self.states[rows]
        return Memory(
            states=states,
            keys=states if self.keys is self.states else self.keys[rows],
            source_is_token=self.source_is_token[rows],
            summary=self.summary[rows],
            masks=tuple(None if mask is None else mask[rows] for mask in self.masks),
            projected=self.projected,
        )


@dataclass(frozen=True, slots=True)
class AttentionHistory:
    """What an attention has done before the present step.

    Attributes:
        step: Number of the present step, from 0 on (B, K).
        latest: Weights of the step before; before the first, one for the first token (B, K, S).
        total: Sum of the weights of all steps before (B, K, S).
    """

    step: Tensor
    latest: Tensor
    total: Tensor


class AdditiveScore(nn.Module):
    """Score of a small network with one hidden layer, without biases.

        a(q, k) = w_v^T tanh(W_q q + W_k k),  W_q (A, q), W_k (A, k), w_v (A)

    Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and
    translate", 2015. Queries and keys may differ in size. Costs B Q K A tanh besides the projections.

    Args:
        query_size: Size of a query.
        key_size: Size of a key.
        hidden_size: Size A of the hidden layer.
    """

    needs_equal_sizes = False

    def __init__(self, query_size: int, key_size: int, hidden_size: int = 128) -> None:
        super().__init__()
        self.query_projection = nn.Linear(query_size, hidden_size, bias=False)
        self.key_projection = nn.Linear(key_size, hidden_size, bias=False)
        bound = 1 / math.sqrt(hidden_size)
        self.score_weight = nn.Parameter(torch.empty(hidden_size).uniform_(-bound, bound))

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return W_k k (B, K, A)."""
        return self.key_projection(keys)

    def forward(self, queries: Tensor, keys: Tensor, projected_keys: Tensor | None = None) -> Tensor:
        """Return the scores (B, Q, K); `projected_keys` is what `project_keys(keys)` returned."""
        projected = self.project_keys(keys) if projected_keys is None else projected_keys
        # tanh(x) = 2 sigmoid(2 x) - 1, which is several times as fast on a CPU; a query at a time fits into its caches
        queries, keys, weight = 2 * self.query_projection(queries), 2 * projected, 2 * self.score_weight
        scores = [
            (query.unsqueeze(1) + keys).sigmoid_() @ weight for query in queries.unbind(dim=1)
        ]  # (B, K)
        return torch.stack(scores, dim=1) - self.score_weight.sum()


class Attention(nn.Module):
    """Attention over a memory by a score and an alignment.

    Where the score needs queries and keys of one size, the keys are projected to that of the query.

    Args:
        query_size: Size Q of a query.
        memory_size: Size M of the encoder's states.
        score: Makes the score, called with `query_size` and `key_size`.
        alignment: Makes the alignment, called with `query_size` and `normalizer`; None: all real tokens.
        normalizer: ``softmax`` or ``sparsemax``.
        dropout: Probability of leaving out a weight in training. It acts on the mean only: the weights
            returned are those before dropout.
    """

    def __init__(
        self,
        query_size: int,
        memory_size: int,
        *,
        score: Callable[..., nn.Module],
        alignment: Callable[..., nn.Module] | None = None,
        normalizer: str = "softmax",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if normalizer not in NORMALIZERS:
            raise ValueError(f"normalizer={normalizer}: choose one of {', '.join(NORMALIZERS)}")
        self.normalizer = normalizer
        self.score = score(query_size=query_size, key_size=memory_size)
        equal = getattr(self.score, "needs_equal_sizes", False) and query_size != memory_size
        self.key_projection = nn.Linear(memory_size, query_size, bias=False) if equal else nn.Identity()
        if not type(self.score).__module__.startswith("seq2seq."):  # a class of the user's
            with torch.no_grad():
                keys = torch.zeros(1, 3, query_size if equal else memory_size)
                found = tuple(self.score(torch.zeros(1, 2, query_size), keys).shape)
            if found != (1, 2, 3):
                raise InputError(
                    f"{type(self.score).__name__} returned scores of shape {found} for 1 sentence, 2 queries and 3 "
                    "keys: the shape must be (batch, queries, keys), here (1, 2, 3)"
                )
        self.alignment = alignment and alignment(query_size=query_size, normalizer=normalizer)
        self.dropout = nn.Dropout(dropout)
        self.needs_total = getattr(self.score, "needs_total", False)  # as `CoverageScore` does
        self.keeps_history = self.alignment is not None or self.needs_total

    def init_memory(self, states: Tensor) -> Tensor:
        """Return the keys of encoder states (B, S, M), as the score projects them: once a sentence."""
        keys = self.key_projection(states)
        return self.score.project_keys(keys) if hasattr(self.score, "project_keys") else keys

    def initial_state(self, memory: Memory) -> State:
        """Return the state before the first step: `AttentionHistory`, or nothing where nothing is kept."""
        if not self.keeps_history:
            return ()
        nothing = at_least_float32(torch.zeros_like(memory.states[..., 0]))
        first = nothing.clone()
        first[:, 0] = 1
        return nothing[:, 0], first, nothing

    def forward(self, query: Tensor, memory: Memory, state: State) -> tuple[Tensor, Tensor, State]:
        """Attend.

        Args:
            query: (N, Q).
            memory: Of the B sentences.
            state: Of the step before.

        Returns:
            Context (N, M), weights (N, S) in float32 at least, and the new state.
        """
        num_sentences = memory.states.shape[0]  # not len(): torch.onnx.export would fix it
        queries = query.view(num_sentences, -1, query.shape[-1])  # (B, K, Q)
        is_token = memory.source_is_token.unsqueeze(1)  # (B, 1, S)
        if not self.keeps_history:
            scores = at_least_float32(self.score(queries, memory.keys, memory.keys))
            if self.normalizer == "softmax":  # every sentence has a real token
                weights = scores.masked_fill(~is_token, -torch.inf).softmax(dim=-1)
            else:
                weights = NORMALIZERS[self.normalizer](scores, mask=is_token)
            context = self.dropout(weights.to(memory.states.dtype)) @ memory.states
            return context.flatten(0, 1), weights.flatten(0, 1), ()
        history = AttentionHistory(*(part.view(num_sentences, -1, *part.shape[1:]) for part in state))
        if self.needs_total:
            scores = self.score(queries, memory.keys, memory.keys, total=history.total)
        else:
            scores = self.score(queries, memory.keys, memory.keys)
        scores = at_least_float32(scores)
        if self.alignment is None:
            weights = attention_weights(scores, mask=is_token, normalizer=NORMALIZERS[self.normalizer])
        else:
            weights = self.alignment(scores, queries, is_token, history)
        context = self.dropout(weights.to(memory.states.dtype)) @ memory.states
        new = history.step + 1, weights, history.total + weights
        return context.flatten(0, 1), weights.flatten(0, 1), tuple(part.flatten(0, 1) for part in new)


def at_least_float32(tensor: Tensor) -> Tensor:
    """Return half-precision numbers in float32, others as they are."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
