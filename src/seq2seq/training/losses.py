"""The loss: token cross-entropy, in sums and counts over real tokens, and the mean over the tokens of an optimizer step."""

from dataclasses import dataclass
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor, nn

from seq2seq.attention.masking import at_least_float32

CHUNK_ROWS = {"cpu": 512, "cuda": 8192}
"""Number of tokens whose logits exist at once: on a CPU those that its caches hold, elsewhere its memory."""


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over the real target tokens of a batch.

    Attributes:
        nll: Negative log-likelihood in nats, without label smoothing.
        objective: What is minimized, with a gradient: cross-entropy with label smoothing, or another objective.
        num_correct: Number of tokens to which the model gives the highest probability.
        num_tokens: Number of real tokens, above 0.
    """

    nll: Tensor
    objective: Tensor
    num_correct: Tensor
    num_tokens: Tensor

    def stacked(self) -> Tensor:
        """Return the four sums as one detached tensor (4,), at least in float32."""
        precise = torch.promote_types(self.nll.dtype, torch.float32)
        parts = self.nll, self.objective, self.num_correct, self.num_tokens
        return torch.stack([part.detach().to(precise) for part in parts])


def token_cross_entropy(
    features: Tensor, output: nn.Module, targets: Tensor, is_token: Tensor, *, label_smoothing: float = 0.0
) -> LossSums:
    """Return the sum of the cross-entropies of the target tokens under p = softmax(logits), logits = output(features).

        -log p_y,  with label smoothing eps:  -(1 - eps) log p_y - eps / V (log p_1 + ... + log p_V)

    of each target token y (Szegedy et al. 2016).

    Args:
        features: Features of every target position (B, T, R).
        output: Layer from features to logits (R -> V).
        targets: Token ids y (B, T).
        is_token: True on real tokens (B, T); padding is not counted.
        label_smoothing: eps.
    """
    # arguments of `apply`, or they get no gradient; within `forward` gradients are never enabled
    parameters = [each for each in output.parameters() if each.requires_grad]
    nll, objective, num_correct = CrossEntropy.apply(
        features[is_token], targets[is_token], output, label_smoothing, torch.is_grad_enabled(), *parameters
    )
    return LossSums(nll, objective, num_correct, is_token.sum())


class CrossEntropy(torch.autograd.Function):
    """The sums above, with logits of some tokens at a time, since those of all take most of the memory of a step.

    The gradient of these logits, p - (1 - eps) [1 at y] - eps / V, is computed together with the loss; differentiable once.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, targets: Tensor, output: nn.Module, eps: float, differentiates: bool,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """Return the sums of -log p_y, of the smoothed loss and of correct tokens over features (n, R) and targets (n,)."""
        ctx.gradients = [torch.empty_like(features), *map(torch.zeros_like, parameters)]
        rows, sums = CHUNK_ROWS.get(features.device.type, CHUNK_ROWS["cuda"]), []
        for start in range(0, len(features), rows):
            chunk = features[start : start + rows].detach().requires_grad_()
            target = targets[start : start + rows].unsqueeze(1)
            with torch.set_grad_enabled(differentiates):
                logits = output(chunk)  # (n, V)
            exact = at_least_float32(logits.detach())
            p, (largest, chosen) = exact.softmax(dim=1), exact.max(dim=1, keepdim=True)
            log_total = largest - p.gather(1, chosen).log()  # logsumexp; the largest p is 1 / V at least
            nll = (log_total - exact.gather(1, target)).sum()  # -log p_y
            uniform = (log_total - exact.mean(dim=1, keepdim=True)).sum() if eps else 0.0
            sums.append((nll, (1 - eps) * nll + eps * uniform, (chosen == target).sum()))
            if differentiates:
                p.scatter_add_(1, target, p.new_full((1, 1), eps - 1).expand_as(target))
                gradient = (p.sub_(eps / p.shape[1]) if eps else p).to(logits.dtype)  # the one above
                found = torch.autograd.grad(logits, [chunk, *parameters], gradient, allow_unused=True)
                ctx.gradients[0][start : start + rows] = found[0]
                for total, of_chunk in zip(ctx.gradients[1:], found[1:], strict=True):
                    if of_chunk is not None:
                        total.add_(of_chunk)
        nll, smoothed, num_correct = (torch.stack(each).sum() for each in zip(*sums, strict=True))
        ctx.mark_non_differentiable(nll, num_correct)
        return nll, smoothed, num_correct

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, _: Any, gradient: Tensor, __: Any) -> tuple[Tensor | None, ...]:
        """Multiply the gradients that `forward` computed by that of the sum, which is one number (chain rule)."""
        of_features, *of_parameters = (each * gradient.to(each.dtype) for each in ctx.gradients)
        return of_features, None, None, None, None, *of_parameters


class StepMean:
    """The mean over all target tokens of an optimizer step, whatever its batches and processes.

    Let o_b be the objective of batch b, a sum over its n_b target tokens in all processes. After batch b of the step,
    the gradient of the parameters is that of (o_1 + ... + o_b) / (n_1 + ... + n_b).

    Attributes:
        sums: `LossSums.stacked` of the batches of the step so far, in all processes.
        of_batches: The same of each batch, in this process, for `TrainingSums`.
    """

    def __init__(self) -> None:
        self.sums, self.of_batches = torch.zeros(4), list[Tensor]()

    def add(self, batch: int, sums: LossSums, module: pl.LightningModule) -> Tensor:
        """Return what is differentiated for a batch, from its index in the epoch and its sums.

        In one process, with one batch a step, that is objective / number of tokens.
        """
        trainer, of_batch = module.trainer, sums.stacked()
        total, before = trainer.strategy.reduce(of_batch.clone(), reduce_op="sum"), list[Tensor]()
        if batch % trainer.accumulate_grad_batches:  # not the first of the step
            total, before = self.sums.to(total) + total, self.of_batches
            for parameter in module.parameters():
                if parameter.grad is not None:  # of the batches before, a mean over fewer tokens
                    parameter.grad.mul_(self.sums[3] / total[3])  # [3]: num_tokens
        self.sums, self.of_batches = total, [*before, of_batch]
        # Lightning divides by accumulate_grad_batches, DDP by the number of processes
        return sums.objective * (trainer.accumulate_grad_batches * trainer.world_size) / total[3]
