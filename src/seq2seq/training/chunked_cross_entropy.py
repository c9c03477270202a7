"""Cross-entropy over the vocabulary, computed in chunks of tokens: faster, and with less memory for logits."""

from typing import Any

import torch
from torch import Tensor

from seq2seq.decoding.stepper import argmax

CHUNK_ROWS = 512
"""Number of tokens in a chunk, whose logits fit into the caches of the CPU."""
GRADIENT_CHUNKS = 2
"""Number of chunks whose gradients in bfloat16 are kept for one product."""


class ChunkedCrossEntropy(torch.autograd.Function):
    """Cross-entropy over the vocabulary with logits for one chunk of tokens at a time; differentiable once.

    The gradients of a chunk are computed together with its loss, and the memory of the logits is reused. Under
    autocast, products have the type of autocast and the softmax is in float32. The uniform part of smoothed labels
    needs mean logits only, which are products with the mean of W.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the sums of nll, of the smoothed loss and of correct tokens, see `token_cross_entropy`."""
        device = features.device.type
        product = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else features.dtype
        precise = torch.promote_types(product, torch.float32)
        with torch.autocast(device, enabled=False):
            wide, w = features.to(product), weight.to(product)
            size, exact = min(CHUNK_ROWS, len(features)), product == precise
            probabilities = torch.empty(size, len(weight), dtype=precise, device=features.device)
            # gradients in bfloat16 or float16 are kept for several chunks, for one product with the features
            several = size if exact else min(GRADIENT_CHUNKS * size, len(features))
            kept = probabilities if exact else wide.new_empty(several, len(weight))
            nll = torch.zeros((), dtype=precise, device=features.device)
            smoothed, num_correct = nll.clone(), torch.zeros_like(nll, dtype=torch.int64)
            mean_weight, mean_bias = weight.mean(dim=0, dtype=precise), bias.mean(dtype=precise)
            needs_gradient = any(ctx.needs_input_grad)
            if needs_gradient:
                grad_features = torch.empty_like(features)
                grad_weight = torch.zeros_like(weight, dtype=precise)
                grad_bias = torch.zeros_like(bias, dtype=precise)
            for start in range(0, len(features), size):
                chunk, target = wide[start : start + size], targets[start : start + size].unsqueeze(1)
                p = probabilities[: len(chunk)]  # (n, V)
                logits = kept[start % several :][: len(chunk)]
                torch.mm(chunk, w.T, out=logits)
                if not exact:
                    p.copy_(logits)
                p += bias
                chosen, target_logit = argmax(p).unsqueeze(1), p.gather(1, target)
                maximum = p.gather(1, chosen)
                torch.softmax(p, dim=1, out=p)
                normalizer = maximum - p.gather(1, chosen).log()
                nll += (normalizer - target_logit).sum()
                smoothed += (normalizer - (1 - smoothing) * target_logit).sum()
                num_correct += (chosen == target).sum()
                if not needs_gradient:
                    continue
                # gradient of the logits: probabilities minus labels
                p.scatter_add_(1, target, p.new_full((1, 1), smoothing - 1).expand_as(target))
                grad_bias += p.sum(dim=0)
                if not exact:
                    logits.copy_(p)
                grad_features[start : start + size] = logits @ w
                end = start + len(chunk)
                if end % several == 0 or end == len(features):
                    rows = slice((end - 1) // several * several, end)
                    grad_weight += kept[: rows.stop - rows.start].T @ wide[rows]
            if smoothing:
                sum_features = features.sum(dim=0, dtype=precise)
                smoothed -= smoothing * (sum_features @ mean_weight + len(features) * mean_bias)
                if needs_gradient:
                    grad_features -= (smoothing * mean_weight).to(features.dtype)
                    grad_weight -= smoothing / len(weight) * sum_features
                    grad_bias -= smoothing / len(weight) * len(features)
        if needs_gradient:
            ctx.gradients = grad_features, grad_weight.to(weight.dtype), grad_bias.to(bias.dtype)
        ctx.mark_non_differentiable(nll, num_correct)
        return nll, smoothed, num_correct

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, _: Any, gradient: Tensor, __: Any) -> tuple[Tensor | None, ...]:
        """Scale the gradients that `forward` computed."""
        grad_features, grad_weight, grad_bias = ctx.gradients
        scale = gradient.to(grad_weight.dtype)
        return (
            grad_features * scale.to(grad_features.dtype),
            grad_weight * scale,
            grad_bias * scale,
            None,
            None,
        )
