"""The attention of a decoder: the weighted mean of the encoder states for a query.

    a_tj = score(q_t, k_j),  w_t = alignment(a_t) over the real tokens j,  c_t = sum over j of w_tj m_j

A score compares a query with each key. An alignment computes weights from the scores. Every score can be combined
with every alignment: softmax or sparsemax over all real tokens, a window (`LocalAlignment`), or a monotonic alignment
(`MonotonicAlignment`). `CoverageScore` also depends on the weights of the previous steps. `MultiHeadAttention`
computes several attentions in parallel.

Shapes: B sentences, Q queries per sentence (in a search one per hypothesis), N = B Q adjacent rows, S keys per sentence
(the source length), M size of an encoder state, A size of a hidden layer, d_q and d_k sizes of a query and a key.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seq2seq.attention.masking import NORMALIZERS
from seq2seq.attention.scores import check_score
from seq2seq.errors import InputError

State = tuple[Tensor, ...]
"""The state between two steps: tensors whose first dimension is the hypothesis (N)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Encoded source sentences, the constant input of all steps of a decoder.

    Attributes:
        states: Encoder outputs, the values of the attention (B, S, M).
        keys: Keys of the attention, projected once per sentence (B, S, …).
        source_is_token: True on real tokens (B, S).
        summary: Summary of each sentence by the encoder (B, F).
        masks: Masks of variational dropout (B, …), see `seq2seq.models.decoder.Decoder.masks`; None: no mask.
    """

    states: Tensor
    keys: Tensor
    source_is_token: Tensor
    summary: Tensor
    masks: tuple[Tensor | None, ...] = ()

    def select(self, rows: Tensor) -> "Memory":
        """Return the memory of the sentences with the indices `rows`, in this order."""
        states = self.states[rows]
        return Memory(
            states=states,
            keys=states if self.keys is self.states else self.keys[rows],
            source_is_token=self.source_is_token[rows],
            summary=self.summary[rows],
            masks=tuple(None if mask is None else mask[rows] for mask in self.masks),
        )


@dataclass(frozen=True, slots=True)
class AttentionHistory:
    """Attention weights of the steps before the current step.

    Attributes:
        step: Index of the current step, from 0 (B, Q).
        latest: Weights of the previous step; at step 0, 1 on the first token (B, Q, S).
        total: Sum of the weights of all previous steps (B, Q, S).
    """

    step: Tensor
    latest: Tensor
    total: Tensor


class AdditiveScore(nn.Module):
    """Additive score: a feed-forward network with one hidden layer, without biases.

        a(q, k) = w_v^T tanh(W_q q + W_k k),  W_q (A, d_q), W_k (A, d_k), w_v (A)

    Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and translate", 2015. Queries
    and keys may differ in size. Cost: B Q S A evaluations of tanh, and the projections.

    Args:
        query_size: Size d_q of a query.
        key_size: Size d_k of a key.
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
        """Return W_k k (B, S, A)."""
        return self.key_projection(keys)

    def forward(self, queries: Tensor, keys: Tensor, projected_keys: Tensor | None = None) -> Tensor:
        """Return the scores (B, Q, S); `projected_keys` is the result of `project_keys(keys)`, or None."""
        projected = self.project_keys(keys) if projected_keys is None else projected_keys
        hidden = self.query_projection(queries).unsqueeze(2) + projected.unsqueeze(1)  # (B, Q, S, A)
        return hidden.tanh() @ self.score_weight


class Attention(nn.Module):
    """Attention over a memory, with a score and an alignment.

    If the score needs queries and keys of equal size, the keys are projected to the size of the query.

    Args:
        query_size: Size d_q of a query.
        memory_size: Size M of an encoder state.
        score: Factory of the score (a class or `functools.partial`), called with `query_size` and `key_size`.
        alignment: Factory of the alignment, called with `query_size` and `normalizer`; None: all real tokens.
        normalizer: ``softmax`` or ``sparsemax``.
        dropout: Dropout probability of the weights. The returned weights are those before dropout.

    Raises:
        ValueError: `normalizer` is unknown.
        InputError: `score` or `alignment` is a module instead of a factory, or a custom score fails `check_score`.
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
        for part in (score, alignment):
            if isinstance(part, nn.Module):
                name = type(part).__name__
                raise InputError(
                    f"Attention: give the class {name} or partial({name}, …), not an object of it"
                )
        self.normalizer = normalizer
        self.score = score(query_size=query_size, key_size=memory_size)
        project = getattr(self.score, "needs_equal_sizes", False) and query_size != memory_size
        self.key_projection = nn.Linear(memory_size, query_size, bias=False) if project else nn.Identity()
        if not type(self.score).__module__.startswith("seq2seq."):
            check_score(self.score, query_size, query_size if project else memory_size)
        self.alignment = alignment and alignment(query_size=query_size, normalizer=normalizer)
        self.dropout = nn.Dropout(dropout)
        self.needs_total = getattr(self.score, "needs_total", False)  # True for `CoverageScore`
        self.keeps_history = self.alignment is not None or self.needs_total

    def init_memory(self, states: Tensor) -> Tensor:
        """Return the keys of encoder states (B, S, M), projected by the score (B, S, …)."""
        keys = self.key_projection(states)
        return self.score.project_keys(keys) if hasattr(self.score, "project_keys") else keys

    def initial_state(self, memory: Memory) -> State:
        """Return the state before the first step: the tensors of `AttentionHistory`, or () if it is not needed."""
        if not self.keeps_history:
            return ()
        total = at_least_float32(torch.zeros_like(memory.states[..., 0]))
        latest = total.clone()
        latest[:, 0] = 1
        return total[:, 0], latest, total

    def forward(self, query: Tensor, memory: Memory, state: State) -> tuple[Tensor, Tensor, State]:
        """Compute the context of each query.

        Args:
            query: The queries (N, d_q).
            memory: The encoded source sentences.
            state: State after the previous step.

        Returns:
            Contexts (N, M), weights (N, S) in float32 or float64, and the new state.
        """
        num_sentences = memory.states.shape[0]  # len() would become a constant in torch.onnx.export
        queries = query.view(num_sentences, -1, query.shape[-1])  # (B, Q, d_q)
        is_token = memory.source_is_token.unsqueeze(1)  # (B, 1, S)
        history, options = None, {}
        if self.keeps_history:
            history = AttentionHistory(*(part.view(num_sentences, -1, *part.shape[1:]) for part in state))
            options = {"total": history.total} if self.needs_total else {}
        scores = at_least_float32(self.score(queries, memory.keys, memory.keys, **options))
        if self.alignment is None:
            weights = NORMALIZERS[self.normalizer](scores, mask=is_token)
        else:
            weights = self.alignment(scores, queries, is_token, history)
        context = self.dropout(weights.to(memory.states.dtype)) @ memory.states
        new_state = () if history is None else (history.step + 1, weights, history.total + weights)
        return context.flatten(0, 1), weights.flatten(0, 1), tuple(part.flatten(0, 1) for part in new_state)


def at_least_float32(tensor: Tensor) -> Tensor:
    """Convert a tensor of half precision to float32; return others unchanged."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
