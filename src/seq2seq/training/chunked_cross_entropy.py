"""Cross-entropy over the vocabulary in chunks of tokens: faster, and the logits are never all in memory."""

from typing import Any

import torch
from torch import Tensor

from seq2seq.decoding.stepper import place_of_top

CHUNK_ROWS = 512
"""Tokens whose logits are computed at a time: few enough for the processor's caches."""
GRADIENT_CHUNKS = 2
"""Chunks whose gradients in bfloat16 are kept together."""


class ChunkedCrossEntropy(torch.autograd.Function):
    """Cross-entropy over the vocabulary that never holds all logits.

    Gradients are made chunk by chunk together with the loss, so that logits exist for one chunk at a time, in a
    place that is used again. Under autocast the products take its type and the softmax is in float32. The
    smoothed labels have the same share on every token, so that mean logits and the gradients of these shares
    are products with the mean of W. Can be differentiated once.
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
            wide, w, b = features.to(product), weight.to(product), bias.to(product)
            size, exact = min(CHUNK_ROWS, len(features)), product == precise
            probabilities = torch.empty(size, len(weight), dtype=precise, device=features.device)
            # gradients in a short format are kept for several chunks, whose share in that of W is one product
            several = size if exact else min(GRADIENT_CHUNKS * size, len(features))
            kept = probabilities if exact else wide.new_empty(several, len(weight))
            nll = torch.zeros((), dtype=precise, device=features.device)
            smoothed, num_correct = nll.clone(), torch.zeros_like(nll, dtype=torch.int64)
            mean_weight, mean_bias = weight.mean(dim=0, dtype=precise), bias.mean(dtype=precise)
            wanted = any(ctx.needs_input_grad)
            if wanted:
                of_features = torch.empty_like(features)
                of_weight = torch.zeros_like(weight, dtype=precise)
                of_bias = torch.zeros_like(bias, dtype=precise)
            for start in range(0, len(features), size):
                chunk, target = wide[start : start + size], targets[start : start + size].unsqueeze(1)
                p = probabilities[: len(chunk)]  # (n, V)
                logits = kept[start % several :][: len(chunk)]
                torch.addmm(b, chunk, w.T, out=logits)
                if not exact:
                    p.copy_(logits)
                chosen, of_target = place_of_top(p).unsqueeze(1), p.gather(1, target)
                greatest = p.gather(1, chosen)
                torch.softmax(p, dim=1, out=p)
                normalizer = greatest - p.gather(1, chosen).log()
                nll += (normalizer - of_target).sum()
                smoothed += (normalizer - (1 - smoothing) * of_target).sum()
                num_correct += (chosen == target).sum()
                if not wanted:
                    continue
                # the gradient of logits: probabilities less labels
                p.scatter_add_(1, target, p.new_full((1, 1), smoothing - 1).expand_as(target))
                of_bias += p.sum(dim=0)
                if not exact:
                    logits.copy_(p)
                of_features[start : start + size] = logits @ w
                end = start + len(chunk)
                if end % several == 0 or end == len(features):
                    rows = slice((end - 1) // several * several, end)
                    of_weight += kept[: rows.stop - rows.start].T @ wide[rows]
            if smoothing:
                sum_features = features.sum(dim=0, dtype=precise)
                smoothed -= smoothing * (sum_features @ mean_weight + len(features) * mean_bias)
                if wanted:
                    of_features -= (smoothing * mean_weight).to(features.dtype)
                    of_weight -= smoothing / len(weight) * sum_features
                    of_bias -= smoothing / len(weight) * len(features)
        if wanted:
            ctx.gradients = of_features, of_weight.to(weight.dtype), of_bias.to(bias.dtype)
        ctx.mark_non_differentiable(nll, num_correct)
        return nll, smoothed, num_correct

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, _: Any, gradient: Tensor, __: Any) -> tuple[Tensor | None, ...]:
        """Scale the gradients that `forward` made."""
        of_features, of_weight, of_bias = ctx.gradients
        scale = gradient.to(of_weight.dtype)
        return of_features * scale.to(of_features.dtype), of_weight * scale, of_bias * scale, None, None
