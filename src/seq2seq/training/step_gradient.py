"""The gradient of an optimiser step: that of the mean loss over all of its target tokens.

A step may have several batches, one after another (accumulation) and in several processes. Their
losses are summed, and the gradient is divided once, when the number of tokens is known:
g = d/dw (sum of the token losses) / (number of tokens).
"""

from collections.abc import Iterable
from dataclasses import fields

import torch
from torch import Tensor, nn

from seq2seq.training.loss import LossSums
from seq2seq.training.process_group import ProcessGroup

TOKENS_OF_A_BATCH = 1024.0
"""Divides every loss before the backward pass, so that 16-bit numbers see the usual magnitudes."""


class StepGradient:
    """Sums up a step.

    Args:
        job: the processes that train together; their gradients are averaged.
    """

    def __init__(self, job: ProcessGroup) -> None:
        self._job = job
        self._sums: LossSums | None = None

    def add(self, sums: LossSums) -> Tensor:
        """Count a batch in; returns what is to be differentiated."""
        detached = sums.detach()
        self._sums = self._sums + detached if self._sums else detached
        return sums.smoothed / TOKENS_OF_A_BATCH

    def end(self) -> LossSums:
        """The sums of the step, over all processes.

        Raises:
            RuntimeError: there was no batch.
        """
        sums, self._sums = self._sums, None
        if sums is None:
            raise RuntimeError("an optimiser step without a batch")
        return total_sums(sums, self._job)

    def scale(
        self, parameters: Iterable[nn.Parameter], sums: LossSums, *, accumulate: int, bound: float
    ) -> Tensor:
        """Divide the gradients by the number of tokens, and clip them.

        Args:
            parameters: whose gradients are a mean over the processes, and over batches.
            sums: of the step.
            accumulate: batches that the mean has been taken over.
            bound: greatest L2 norm; infinity for none.

        Returns:
            The norm before it was clipped.
        """
        factor = TOKENS_OF_A_BATCH * accumulate * self._job.size / sums.num_tokens
        gradients = [each.grad for each in parameters if each.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients) * factor
        # as torch.nn.utils.clip_grad_norm_ does it
        factor = factor * (bound / (norm + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor)
        return norm


def total_sums(sums: LossSums, job: ProcessGroup) -> LossSums:
    """The sums over all processes."""
    if job.size == 1:
        return sums
    values = [getattr(sums, field.name).double() for field in fields(LossSums)]
    return LossSums(*job.total(torch.stack(values)).unbind())
