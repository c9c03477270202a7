"""Additive attention in bounded memory, for long inputs such as speech frames and text lines.

The textbook expression w^T tanh(q + k) holds a tensor (B, Q, K, A), and autograd keeps it until
the backward pass: 10 GB for 8 recordings of 1,600 frames attending to themselves with A = 128.
The operations here work on a few queries at a time and compute the tanh again on the way back, so
that memory grows with (B, Q, K) only.
"""

import math
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows it by
from jaxtyping import Bool, Float
from torch import Tensor, nn

from seq2seq.attention.derivatives import refuse_second_derivative
from seq2seq.attention.masking import Lengths, attention_weights

CHUNK_ELEMENTS = 2**22
"""Elements of the largest (B, queries of a chunk, K, A) tensor: 16 MB in float32."""


def additive_attention(
    queries: Float[Tensor, "B Q q"],
    keys: Float[Tensor, "B K k"],
    values: Float[Tensor, "B K v"],
    query_weight: Float[Tensor, "A q"],
    key_weight: Float[Tensor, "A k"],
    score_weight: Float[Tensor, " A"],
    valid_lengths: Lengths = None,
    *,
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "B Q v"], Float[Tensor, "B Q K"]]:
    """Additive attention as one operation: no module, no parameters of its own.

        context = sum over j of softmax_j(w^T tanh(W_q q + W_k k_j)) v_j

    After Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and
    translate", 2015. Runs on CPU and CUDA, differentiable once in all six tensors, in B Q K A
    multiplications and tanh, each tanh twice when training.

    Args:
        queries: what asks, for instance decoder states.
        keys: what is compared, for instance encoder frames.
        values: what is averaged, often the keys themselves.
        query_weight: W_q.
        key_weight: W_k.
        score_weight: w.
        valid_lengths: how many keys are real, from the first on: (B,) or (B, Q). None for all.
        mask: True on real keys, of any shape that broadcasts to (B, Q, K), instead of lengths.

    Returns:
        The context, in the values' type, and the weights, in float32 at least. A query without a
        real key has zeros in both.

    Raises:
        ValueError: both `valid_lengths` and `mask` are given.
    """
    scores = additive_scores(
        F.linear(queries, query_weight), F.linear(keys, key_weight), score_weight
    )
    weights = attention_weights(scores, valid_lengths, mask=mask)
    return weights.to(values.dtype) @ values, weights


def additive_scores(
    queries: Float[Tensor, "B Q A"],
    keys: Float[Tensor, "B K A"],
    weight: Float[Tensor, " A"],
    *,
    chunk_elements: int = CHUNK_ELEMENTS,
) -> Float[Tensor, "B Q K"]:
    """Scores w^T tanh(q + k) of queries and keys that are already projected.

    A single query (a decoder's step) and small inputs go through the plain expression, which
    keeps (B, Q, K, A) for the backward pass. Everything else keeps the arguments only, and can be
    differentiated once; a second derivative is refused.

    Args:
        queries: projected queries W_q q.
        keys: projected keys W_k k.
        weight: w.
        chunk_elements: bound of the largest intermediate tensor, in elements; one query of the
            whole batch, B K A, is the least there is.
    """
    per_query = keys.numel()
    num_queries = queries.shape[1]
    if num_queries == 1 or num_queries * per_query <= chunk_elements:
        return _plain_scores(queries, keys, weight)
    function = _chunked_scores(queries.device.type)
    return function.apply(queries, keys, weight, max(1, chunk_elements // per_query))


def _plain_scores(queries: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    # In place: one tensor of the largest size instead of two.
    return (queries.unsqueeze(2) + keys.unsqueeze(1)).tanh_() @ weight


@cache
def _chunked_scores(device_type: str) -> Any:
    """The differentiable function for a kind of device: `torch.amp` wants the kind beforehand."""

    class ChunkedScores(torch.autograd.Function):
        """w^T tanh(q + k), a few queries at a time; keeps its arguments only."""

        forward = staticmethod(torch.amp.custom_fwd(_forward, device_type=device_type))
        backward = staticmethod(torch.amp.custom_bwd(_backward, device_type=device_type))

    return ChunkedScores


def _forward(ctx: Any, queries: Tensor, keys: Tensor, weight: Tensor, chunk: int) -> Tensor:
    ctx.save_for_backward(queries, keys, weight)
    ctx.chunk = chunk
    parts = [_plain_scores(part, keys, weight) for part in queries.split(chunk, dim=1)]
    return torch.cat(parts, dim=1)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    refuse_second_derivative("additive scoring of many queries")
    return (*_score_gradients(gradient, *ctx.saved_tensors, chunk=ctx.chunk), None)


def _score_gradients(
    gradient: Tensor, queries: Tensor, keys: Tensor, weight: Tensor, *, chunk: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of queries, keys and weight; sums over chunks are kept in float32 at least."""
    dtype = torch.promote_types(gradient.dtype, torch.float32)
    of_queries = torch.empty_like(queries)
    of_keys = torch.zeros_like(keys, dtype=dtype)
    of_weight = torch.zeros_like(weight, dtype=dtype)
    for part, part_gradient, out in zip(
        queries.split(chunk, dim=1),
        gradient.split(chunk, dim=1),
        of_queries.split(chunk, dim=1),
        strict=True,
    ):
        hidden = (part.unsqueeze(2) + keys.unsqueeze(1)).tanh_()
        of_weight += part_gradient.flatten() @ hidden.flatten(end_dim=2)
        slope = hidden.square_().neg_().add_(1).mul_(part_gradient.unsqueeze(-1))
        out.copy_(slope.sum(dim=2, dtype=dtype) * weight)
        of_keys += slope.sum(dim=1, dtype=dtype)
    return of_queries, (of_keys * weight).to(keys.dtype), of_weight.to(weight.dtype)


class AdditiveScore(nn.Module):
    """Score of a small network with one hidden layer, without biases.

        a(q, k) = w_v^T tanh(W_q q + W_k k),  W_q (A, q), W_k (A, k), w_v (A)

    Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and
    translate", 2015. Queries and keys may differ in size. Costs B Q K A tanh besides the
    projections; memory is bounded.

    Args:
        query_size: size of a query; None to take it from the first queries seen.
        key_size: size of a key; None to take it from the first keys seen.
        hidden_size: size A of the hidden layer. It must be given; it is optional in the
            signature only to come after the two sizes that are.

    Raises:
        TypeError: there is no hidden size.
    """

    needs_equal_sizes = False

    def __init__(
        self,
        query_size: int | None = None,
        key_size: int | None = None,
        hidden_size: int | None = None,
    ) -> None:
        super().__init__()
        if hidden_size is None:
            raise TypeError("AdditiveScore needs a hidden_size")
        self.query_projection = _projection(query_size, hidden_size)
        self.key_projection = _projection(key_size, hidden_size)
        self.score_weight = nn.Parameter(torch.empty(hidden_size))
        bound = 1 / math.sqrt(hidden_size)
        nn.init.uniform_(self.score_weight, -bound, bound)

    def project_keys(self, keys: Float[Tensor, "B K k"]) -> Float[Tensor, "B K A"]:
        """W_k k."""
        return self.key_projection(keys)

    def forward(
        self,
        queries: Float[Tensor, "B Q q"],
        keys: Float[Tensor, "B K k"],
        projected_keys: Float[Tensor, "B K A"] | None = None,
    ) -> Float[Tensor, "B Q K"]:
        """The scores; `projected_keys` are what `project_keys(keys)` returned."""
        projected = self.project_keys(keys) if projected_keys is None else projected_keys
        return additive_scores(self.query_projection(queries), projected, self.score_weight)


def _projection(input_size: int | None, output_size: int) -> nn.Linear:
    if input_size is None:
        return nn.LazyLinear(output_size, bias=False)
    return nn.Linear(input_size, output_size, bias=False)
