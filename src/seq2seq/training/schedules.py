"""Learning-rate schedules, and the exponential moving average of the weights."""

import math
from collections.abc import Callable
from typing import Any

import lightning.pytorch as pl
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import get_ema_multi_avg_fn


def warmup_cosine(
    optimizer: Optimizer, total_steps: int, warmup_steps: int = 100, min_lr_ratio: float = 0.01
) -> LambdaLR:
    """Return a schedule with linear warmup and cosine decay to a fraction of the maximum rate.

    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, one period.

    Args:
        optimizer: Its `lr` is the maximum rate.
        total_steps: Number of optimizer steps of the training.
        warmup_steps: Number of steps of linear warmup.
        min_lr_ratio: Rate at the last step, as a share of the maximum.
    """
    decay_steps = max(total_steps - warmup_steps, 1)

    def fraction(step: int) -> float:
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        progress = min((step - warmup_steps) / decay_steps, 1.0)
        return min_lr_ratio + (1 - min_lr_ratio) * 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, fraction)


def warmup_constant(optimizer: Optimizer, warmup_steps: int = 0) -> LambdaLR:
    """Return a schedule with linear warmup to a constant rate.

    Args:
        optimizer: Its `lr` is the maximum rate.
        warmup_steps: Number of steps of linear warmup.
    """
    return LambdaLR(optimizer, lambda step: min((step + 1) / max(warmup_steps, 1), 1.0))


def warmup_ema(decay: float = 0.999) -> Callable[[Any, Any, Any], None]:
    """Return the update rule of an exponential moving average with a smaller decay at the start.

        average = d average + (1 - d) weights,  d = min(decay, (1 + n) / (10 + n)) at the n-th step

    Args:
        decay: Maximum share of the average that is kept at each step.

    Returns:
        A `multi_avg_fn` of `torch.optim.swa_utils.AveragedModel`.
    """

    def update(averages: Any, weights: Any, num_averaged: Any) -> None:
        number = int(num_averaged)
        get_ema_multi_avg_fn(min(decay, (1 + number) / (10 + number)))(averages, weights, num_averaged)

    return update


def total_steps(trainer: pl.Trainer) -> int:
    """Return the number of optimizer steps of the training.

    With a data module, `trainer.estimated_stepping_batches` is not used: it discards the state of the data loader
    when a run is resumed.
    """
    data = getattr(trainer, "datamodule", None)
    if data is None:  # data loaders passed to `Trainer.fit`
        return int(trainer.estimated_stepping_batches)
    batches = len(data.train_dataloader())
    if isinstance(trainer.limit_train_batches, int) and trainer.limit_train_batches > 0:
        batches = min(batches, trainer.limit_train_batches)
    elif isinstance(trainer.limit_train_batches, float):
        batches = max(1, int(batches * trainer.limit_train_batches))
    steps = math.ceil(batches / trainer.accumulate_grad_batches) * (trainer.max_epochs or 1)
    if trainer.max_epochs == -1:
        steps = trainer.max_steps
    return steps if trainer.max_steps < 0 else min(steps, trainer.max_steps)
