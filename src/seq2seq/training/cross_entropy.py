"""Cross-entropy over a large vocabulary that never holds all logits."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.attention.derivatives import refuse_second_derivative
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
) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Int[Tensor, ""]]:
    """Sums over tokens of the cross-entropy of logits W f + b.

    With label smoothing eps the label is (1 - eps) on the target and eps / V on every token
    (Szegedy et al. 2016). The gradients are made chunk by chunk together with the loss, so that
    logits exist for one chunk at a time, and once. Under autocast the products take its type, the
    softmax is in float32. Differentiable once.

    Args:
        features: one row a token.
        weight: W.
        bias: b.
        targets: token ids.
        label_smoothing: eps.

    Returns:
        Negative log-likelihood in nats (not differentiable), smoothed cross-entropy, and the
        number of tokens that no other outranks.
    """
    precision = Precision.of(features)
    return _CrossEntropy.apply(precision, label_smoothing, targets, features, weight, bias)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        precision: Precision,
        label_smoothing: float,
        targets: Tensor,
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:
        with torch.autocast(targets.device.type, enabled=False):
            sums = _Chunks(
                precision, label_smoothing, *tensors, with_gradients=any(ctx.needs_input_grad)
            )
            sums.add(targets)
        ctx.gradients = sums.gradients
        ctx.mark_non_differentiable(sums.nll, sums.num_correct)
        return sums.nll, sums.smoothed, sums.num_correct

    @staticmethod
    def backward(ctx: Any, _: Any, gradient: Tensor, __: Any) -> tuple[Tensor | None, ...]:
        refuse_second_derivative("the cross-entropy over the vocabulary")
        gradients = ctx.gradients
        of_tensors = (gradients.features, gradients.weight, gradients.bias)
        return None, None, None, *(gradient * of_tensor for of_tensor in of_tensors)


@dataclass(frozen=True, slots=True)
class _Gradients:
    features: Tensor
    weight: Tensor
    bias: Tensor


class _Chunks:
    """The sums so far, and with them the gradients."""

    def __init__(
        self,
        precision: Precision,
        label_smoothing: float,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        *,
        with_gradients: bool,
    ) -> None:
        self._smoothing = label_smoothing
        self._features = features.to(precision.product)
        self._weight, self._bias = weight.to(precision.product), bias.to(precision.product)
        self._rows = min(len(features), max(LEAST_ROWS, CHUNK_ELEMENTS // len(weight)))
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
        for start in range(0, len(targets), self._rows):
            rows = slice(start, start + self._rows)
            self._add_chunk(self._features[rows], targets[rows].unsqueeze(1), rows)

    def _add_chunk(self, features: Tensor, targets: Tensor, rows: slice) -> None:
        logits, shares = self._logits[: len(features)], self._shares[: len(features)]
        torch.addmm(self._bias, features, self._weight.T, out=logits)
        if shares is not logits:
            shares.copy_(logits)
        of_target, greatest = shares.gather(1, targets), shares.amax(dim=1, keepdim=True)
        mean = shares.mean(dim=1, keepdim=True) if self._smoothing else of_target
        torch.softmax(shares, dim=1, out=shares)
        # log of the sum of exponentials: the greatest logit less the log of its probability
        normaliser = greatest - shares.amax(dim=1, keepdim=True).log()
        self.nll += (normaliser - of_target).sum()
        self.smoothed += (
            normaliser - (1 - self._smoothing) * of_target - self._smoothing * mean
        ).sum()
        self.num_correct += (of_target == greatest).sum()
        if self.gradients is not None:
            self._add_gradients(self.gradients, features, targets, rows)

    def _add_gradients(
        self, gradients: _Gradients, features: Tensor, targets: Tensor, rows: slice
    ) -> None:
        """Of the smoothed sum: with respect to logits, probabilities less labels."""
        of_logits, shares = self._logits[: len(features)], self._shares[: len(features)]
        if self._smoothing:
            shares -= self._smoothing / shares.shape[1]
        label = shares.new_full((1, 1), self._smoothing - 1).expand_as(targets)
        shares.scatter_add_(1, targets, label)
        gradients.bias.add_(shares.sum(dim=0))
        if shares is of_logits:
            torch.mm(of_logits, self._weight, out=gradients.features[rows])
            gradients.weight.addmm_(of_logits.T, features)
        else:
            of_logits.copy_(shares)
            gradients.features[rows] = of_logits @ self._weight
            gradients.weight.add_(of_logits.T @ features)
