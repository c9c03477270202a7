"""The attention inside an unrolled decoder: forward and backward of a step, without autograd."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from seq2seq.model.fused.layer import columns

SAFE_EXPONENT = 40.0
"""Queries and keys up to this have exp(2 x) and its inverse well within float32."""


Unpack = Callable[[Tensor], Tensor]
"""(N, …) to (B, T, …), zero on padding, see `Steps.unpack_ordered`."""


@runtime_checkable
class AttentionPass(Protocol):
    """What a decoder's pass asks of its attention.

    A step may have fewer sentences than there are keys: they are the first ones.
    """

    def overflowed(self, queries: Tensor) -> bool:
        """Whether the forward pass, whose queries (N, A) these were, must be repeated."""

    def scores(self, query: Tensor) -> Tensor:
        """Scores (B, S) of the queries of a step, but for a constant."""

    def many_scores(self, queries: Tensor) -> Tensor:
        """Scores (B, K, S) of several queries of each sentence, but for a constant each."""

    def begin_backward(self) -> None:
        """Before the first `backward_step`."""

    def backward_step(self, query: Tensor, of_scores: Tensor) -> Tensor:
        """The gradient of the queries of a step from that of the scores (B, S)."""

    def gradients(self, of_scores: Tensor, queries: Tensor, unpack: Unpack) -> list[Tensor]:
        """Of the keys and of the score's own parameters but W_q, after the last `backward_step`.

        Args:
            of_scores: the gradients of all scores (N, S).
            queries: of all steps (N, A).
            unpack: turns either into (B, T, …), zero on padding.
        """


@dataclass(frozen=True, slots=True)
class FusedScore:
    """A score as the operations of this room know it.

    Attributes:
        begin: (projected keys, *parameters but W_q, exact=…) -> the pass over these keys; one that
            is exact takes numbers of any size.
        parameters: those that take part in the pass and get a gradient there, W_q first, which is
            applied to the query; none where the query is taken as it is.
    """

    begin: Callable[..., AttentionPass]
    parameters: tuple[Tensor, ...] = ()


class AdditivePass:
    """Scores w_v^T tanh(q + k) during a pass, with q = W_q h and keys already projected.

    The hidden layer (B, S, A) of a step is made again in backward. Since tanh(x) =
    2 sigmoid(2 x) - 1 and softmax ignores what is the same for all keys, it is
    sigmoid(2 (q + k)) = 1 / (1 + exp(-2 q) exp(-2 k)): the exponentials of the keys are taken once
    for all steps, and a step takes those of its queries only. Where a number is so large that a
    product of exponentials could be 0 times infinity, and on a GPU, where an exponential costs
    nothing, the sigmoid of the sum is taken (`exact`).

    Args:
        keys: W_k k (B, S, A).
        score_weight: w_v (A).
        exact: never multiply exponentials.
    """

    def __init__(self, keys: Tensor, score_weight: Tensor, *, exact: bool) -> None:
        self.exact = exact or keys.is_cuda or _is_large(keys)
        self._keys = keys
        self._powers = keys if self.exact else torch.exp(-2 * keys)
        self._one = keys.new_ones(())
        self._score = score_weight
        self._hidden = torch.empty_like(keys)

    def overflowed(self, queries: Tensor) -> bool:
        """Whether the pass must be done again with `exact`."""
        return not self.exact and _is_large(queries)

    def scores(self, query: Tensor) -> Tensor:
        """Scores (B, S), but for a constant, of queries (B, A)."""
        return self._hidden_layer(query) @ (2 * self._score)

    def many_scores(self, queries: Tensor) -> Tensor:
        """Scores (B, K, S), but for a constant each, of queries (B, K, A)."""
        return torch.stack([self.scores(query) for query in queries.unbind(dim=1)], dim=1)

    def _hidden_layer(self, query: Tensor) -> Tensor:
        query, count = query.unsqueeze(1).to(self._keys.dtype), len(query)
        hidden = self._hidden[:count]
        if self.exact:
            return torch.add(query, self._keys[:count], out=hidden).mul_(2).sigmoid_()
        power = torch.exp(-2 * query)
        return torch.addcmul(self._one, power, self._powers[:count], out=hidden).reciprocal_()

    def begin_backward(self) -> None:
        """Begin with gradients of zero."""
        self._of_keys = torch.zeros_like(self._keys)
        self._of_score = self._keys.new_zeros(len(self._keys), 1, self._keys.shape[-1])

    def backward_step(self, query: Tensor, of_scores: Tensor) -> Tensor:
        """The gradient of the queries (B, A) from that of the scores (B, S)."""
        hidden = self._hidden_layer(query)
        self._of_score[: len(query)].baddbmm_(of_scores.unsqueeze(1), hidden)
        slope = torch.ops.aten.sigmoid_backward(of_scores.unsqueeze(2), hidden)
        self._of_keys[: len(query)] += slope
        return slope.sum(dim=1).mul_(4 * self._score)

    def gradients(
        self,
        of_scores: Tensor,  # noqa: ARG002
        queries: Tensor,  # noqa: ARG002
        unpack: Unpack,  # noqa: ARG002
    ) -> list[Tensor]:
        """Of the keys and of w_v."""
        of_keys = self._of_keys.mul_(4 * self._score)
        return [of_keys, self._of_score.sum(dim=(0, 1)).mul_(2)]


class DotPass:
    """Scores q^T k * scale during a pass; with projected keys also those of the bilinear score.

    Args:
        keys: of the queries' size (B, S, H).
        is_scaled: whether the scale is 1 / sqrt(size), not 1.
        exact: nothing to this score.
    """

    def __init__(self, keys: Tensor, *, is_scaled: bool, exact: bool) -> None:  # noqa: ARG002
        self._keys = keys
        self._columns = columns(keys)
        self._scale = keys.shape[-1] ** -0.5 if is_scaled else 1.0

    def overflowed(self, queries: Tensor) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def scores(self, query: Tensor) -> Tensor:
        """Scores (B, S) of queries (B, H)."""
        return self.many_scores(query.unsqueeze(1)).squeeze(1)

    def many_scores(self, queries: Tensor) -> Tensor:
        """Scores (B, K, S) of queries (B, K, H)."""
        return torch.bmm(queries * self._scale, self._columns[: len(queries)])

    def begin_backward(self) -> None:
        """Nothing is summed up over the steps."""

    def backward_step(self, query: Tensor, of_scores: Tensor) -> Tensor:
        """The gradient of the queries (B, H) from that of the scores (B, S)."""
        keys = self._keys[: len(query)]
        return torch.bmm(of_scores.unsqueeze(1), keys).squeeze(1).mul_(self._scale)

    def gradients(self, of_scores: Tensor, queries: Tensor, unpack: Unpack) -> list[Tensor]:
        """Of the keys."""
        queries = unpack(queries.to(of_scores.dtype) * self._scale)
        return [torch.bmm(unpack(of_scores).mT, queries)]


def _is_large(numbers: Tensor) -> bool:
    return bool(numbers.numel()) and float(numbers.abs().amax()) > SAFE_EXPONENT
