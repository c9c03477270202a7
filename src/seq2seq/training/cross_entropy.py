"""Cross-entropy over a large vocabulary that never holds all logits."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.attention.derivatives import refuse_second_derivative
from seq2seq.decoding.top_k import place_of_top
from seq2seq.model.precision import Precision

CHUNK_ELEMENTS = 2**22
"""Logits at a time: 16 MB in float32, which a processor's cache or its allocator keeps."""
LEAST_ROWS = 256
"""Fewer tokens at a time would make narrow products, however large the vocabulary."""


def vocabulary_cross_entropy(
    features: Float[Tensor, "N R"],
    weight: Float[Tensor, "V R"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, " N"],
    *,
    label_smoothing: float,
    divergence: float = 0.0,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Int[Tensor, ""]]:
    """Sums over tokens of the cross-entropy of logits W f + b.

    With label smoothing eps the label is (1 - eps) on the target and eps / V on every token
    (Szegedy et al. 2016). The gradients are made chunk by chunk together with the loss, so that
    logits exist for one chunk at a time, and once. Under autocast the products take its type, the
    softmax is in float32. Differentiable once.

    With a divergence alpha, rows i and i + N / 2 are two readings p and q of the same token, under
    two dropout masks, and alpha / 2 (KL(p, q) + KL(q, p)) is added for each such pair (R-Drop,
    Liang et al. 2021).

    Args:
        features: one row a token.
        weight: W.
        bias: b.
        targets: token ids.
        label_smoothing: eps.
        divergence: alpha; with 0 the rows have nothing to do with each other.

    Returns:
        Negative log-likelihood in nats (not differentiable), smoothed cross-entropy with the
        divergence, and the number of tokens that greedy search would choose: of several that
        share the greatest logit, which bfloat16 makes common, that is one.
    """
    objective = _Objective(Precision.of(features), label_smoothing, divergence)
    return _CrossEntropy.apply(objective, targets, features, weight, bias)


@dataclass(frozen=True, slots=True)
class _Objective:
    """What is summed, and in which formats."""

    precision: Precision
    smoothing: float
    divergence: float


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, objective: _Objective, targets: Tensor, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        with torch.autocast(targets.device.type, enabled=False):
            sums = _Chunks(objective, *tensors, with_gradients=any(ctx.needs_input_grad))
            sums.add(targets)
        ctx.gradients = sums.gradients
        ctx.mark_non_differentiable(sums.nll, sums.num_correct)
        return sums.nll, sums.smoothed, sums.num_correct

    @staticmethod
    def backward(ctx: Any, _: Any, gradient: Tensor, __: Any) -> tuple[Tensor | None, ...]:
        refuse_second_derivative("the cross-entropy over the vocabulary")
        gradients = ctx.gradients
        of_tensors = (gradients.features, gradients.weight, gradients.bias)
        return None, None, *(gradient * of_tensor for of_tensor in of_tensors)


@dataclass(frozen=True, slots=True)
class _Gradients:
    features: Tensor
    weight: Tensor
    bias: Tensor


class _Chunks:
    """The sums so far, and with them the gradients."""

    def __init__(
        self,
        objective: _Objective,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        *,
        with_gradients: bool,
    ) -> None:
        self._objective, precision = objective, objective.precision
        self._features = features.to(precision.product)
        self._weight, self._bias = weight.to(precision.product), bias.to(precision.product)
        self._rows = min(len(features), max(LEAST_ROWS, CHUNK_ELEMENTS // len(weight)))
        self._rows += self._rows % 2  # two readings of a token share a chunk
        self._logits = self._features.new_empty(self._rows, len(weight))
        self._shares = self._logits
        if precision.is_mixed:
            self._shares = torch.empty_like(self._logits, dtype=precision.state)
        self.nll = torch.zeros((), dtype=precision.state, device=features.device)
        self.smoothed = self.nll.clone()
        self.num_correct = torch.zeros((), dtype=torch.int64, device=features.device)
        self.gradients: _Gradients | None = None
        if with_gradients:
            self.gradients = _Gradients(
                *(torch.zeros_like(t, dtype=precision.state) for t in (features, weight, bias))
            )

    def add(self, targets: Tensor) -> None:
        """Go through all tokens."""
        if not self._objective.divergence:
            for start in range(0, len(targets), self._rows):
                self._add_chunk(targets, slice(start, start + self._rows))
            return
        places = torch.arange(len(targets), device=targets.device).view(2, -1)
        for chunk in places.split(self._rows // 2, dim=1):
            self._add_chunk(targets, chunk.flatten())

    def _add_chunk(self, all_targets: Tensor, rows: slice | Tensor) -> None:
        features, targets = self._features[rows], all_targets[rows].unsqueeze(1)
        logits, shares = self._logits[: len(features)], self._shares[: len(features)]
        torch.addmm(self._bias, features, self._weight.T, out=logits)
        if shares is not logits:
            shares.copy_(logits)
        smoothing = self._objective.smoothing
        chosen = place_of_top(shares).unsqueeze(1)
        of_target, greatest = shares.gather(1, targets), shares.gather(1, chosen)
        mean = shares.mean(dim=1, keepdim=True) if smoothing else of_target
        self.num_correct += (chosen == targets).sum()
        readings = _Readings(shares) if self._objective.divergence else None
        torch.softmax(shares, dim=1, out=shares)
        # log of the sum of exponentials: the greatest logit less the log of its probability
        normaliser = greatest - shares.amax(dim=1, keepdim=True).log()
        self.nll += (normaliser - of_target).sum()
        self.smoothed += (normaliser - (1 - smoothing) * of_target - smoothing * mean).sum()
        if readings is not None:
            self.smoothed += self._objective.divergence * readings.compare(shares, normaliser)
        if self.gradients is not None:
            self._add_gradients(self.gradients, features, targets, rows, readings)

    def _add_gradients(
        self,
        gradients: _Gradients,
        features: Tensor,
        targets: Tensor,
        rows: slice | Tensor,
        readings: "_Readings | None",
    ) -> None:
        """Of the smoothed sum: with respect to logits, probabilities less labels."""
        of_logits, shares = self._logits[: len(features)], self._shares[: len(features)]
        if readings is not None:
            readings.add_gradient(shares, self._objective.divergence)
        smoothing = self._objective.smoothing
        if smoothing:
            shares -= smoothing / shares.shape[1]
        label = shares.new_full((1, 1), smoothing - 1).expand_as(targets)
        shares.scatter_add_(1, targets, label)
        gradients.bias.add_(shares.sum(dim=0))
        if shares is not of_logits:
            of_logits.copy_(shares)
        gradients.features[rows] = (of_logits @ self._weight).to(gradients.features)
        gradients.weight.add_(of_logits.T @ features)


class _Readings:
    """Two readings p and q of the same tokens, the rows of q below those of p.

    Args:
        logits: of both (2 n, V).
    """

    def __init__(self, logits: Tensor) -> None:
        first, second = logits.chunk(2)
        self._ratio = first - second

    def compare(self, shares: Tensor, normaliser: Tensor) -> Tensor:
        """Half the sum of KL(p, q) + KL(q, p), from probabilities and what normalises them."""
        first, second = normaliser.chunk(2)
        self._ratio -= first - second
        p, q = shares.chunk(2)
        self._from_p = torch.linalg.vecdot(p, self._ratio).unsqueeze(1)
        self._from_q = torch.linalg.vecdot(q, self._ratio).unsqueeze(1).neg()
        return (self._from_p + self._from_q).sum() / 2

    def add_gradient(self, shares: Tensor, weight: float) -> None:
        """Add `weight` times the gradient with respect to the logits to the probabilities.

        That of p is p (log(p / q) - KL(p, q)) + p - q over 2, and the same with both exchanged.
        """
        p, q = shares.chunk(2)
        apart = p - q
        of_p = torch.mul(self._ratio - self._from_p, p).add_(apart)
        of_q = torch.mul(self._ratio.neg_().sub_(self._from_q), q).sub_(apart)
        p.add_(of_p, alpha=weight / 2)
        q.add_(of_q, alpha=weight / 2)
