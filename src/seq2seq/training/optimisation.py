"""Optimiser and learning-rate schedule."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torch import nn
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

OPTIMISERS: dict[str, Callable[..., Optimizer]] = {"adam": Adam, "adamw": AdamW, "sgd": SGD}


@dataclass(frozen=True, slots=True)
class Optimisation:
    """How the parameters are fitted.

    Attributes:
        optimiser: ``adam``, ``adamw`` or ``sgd``.
        learning_rate: the greatest rate.
        weight_decay: L2 penalty (decoupled with adamw).
        schedule: ``constant``, ``cosine`` (to `final_fraction` at the last step) or ``plateau``.
        warmup_steps: optimiser steps of linear growth from 0.
        total_steps: optimiser steps of the whole training.
        final_fraction: share of `learning_rate` at the end of the cosine.
        plateau_factor: what the rate is multiplied with on a plateau.
        plateau_patience: validations without progress that make a plateau.
        monitor: metric that the plateau is seen in.
        monitor_mode: ``min`` or ``max``.
    """

    optimiser: str
    learning_rate: float
    weight_decay: float
    schedule: str
    warmup_steps: int
    total_steps: int
    final_fraction: float
    plateau_factor: float
    plateau_patience: int
    monitor: str
    monitor_mode: str

    def build_optimiser(self, parameters: Iterable[nn.Parameter]) -> Optimizer:
        """The optimiser over some parameters."""
        return OPTIMISERS[self.optimiser](
            parameters, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True
        )

    def build_step_schedule(self, optimiser: Optimizer) -> LambdaLR:
        """Warm-up, then constant or cosine, by optimiser steps."""
        # a lambda, which LambdaLR leaves out of checkpoints, and not a method, which it pickles
        return LambdaLR(optimiser, lambda step: self.rate_fraction(step))  # noqa: PLW0108

    def build_plateau_schedule(self, optimiser: Optimizer) -> ReduceLROnPlateau:
        """Lower the rate where the monitored metric stops improving, be it ever so little."""
        return ReduceLROnPlateau(
            optimiser,
            mode="min" if self.monitor_mode == "min" else "max",
            factor=self.plateau_factor,
            patience=self.plateau_patience - 1,  # torch waits for one more
            threshold=0.0,
        )

    def rate_fraction(self, step: int) -> float:
        """Share of `learning_rate` at an optimiser step, counted from 0."""
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        if self.schedule != "cosine":
            return 1.0
        decay_steps = max(self.total_steps - self.warmup_steps, 1)
        progress = min((step - self.warmup_steps) / decay_steps, 1.0)
        cosine = 0.5 * (1 + math.cos(math.pi * progress))
        return self.final_fraction + (1 - self.final_fraction) * cosine
