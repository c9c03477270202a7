"""Learning-rate schedules, and the exponential moving average of the weights."""

import math
from collections.abc import Callable
from typing import Any

from lightning.pytorch.callbacks import WeightAveraging
from lightning.pytorch.utilities import rank_zero_only
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import get_ema_multi_avg_fn

from seq2seq.common.numbers import NotNegative, Share
from seq2seq.common.progress import counted, warn


def warmup_cosine(
    optimizer: Optimizer, total_steps: int, warmup_steps: NotNegative = 100, min_lr_ratio: Share = 0.01
) -> LambdaLR:
    """Return a schedule with linear warmup, then cosine decay to a fraction of the maximum rate.

    With w = max(`warmup_steps`, 1), T = `total_steps` and r = `min_lr_ratio`, the share of the maximum rate at step n,
    counted from 1, is

        n / w                                                 for n <= w
        r + (1 - r) (1 + cos(pi (n - w) / (T - w))) / 2       for w < n <= T

    and r afterwards. Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, one period.

    Args:
        optimizer: Its `lr` is the maximum rate.
        total_steps: Number of optimizer steps of the training.
        warmup_steps: Number of steps of linear warmup.
        min_lr_ratio: Rate at the last step, as a share of the maximum.
    """
    warmup = max(warmup_steps, 1)
    if total_steps < warmup:
        rank_zero_only(warn)(
            f"scheduler.warmup_steps={warmup_steps}, but the training has {counted(total_steps, 'step')}: the learning "
            "rate does not reach optimizer.lr"
        )

    def share(step: int) -> float:
        number = step + 1
        if number <= warmup:
            return number / warmup
        progress = min((number - warmup) / max(total_steps - warmup, 1), 1.0)
        return min_lr_ratio + (1 - min_lr_ratio) * 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, share)


def warmup_constant(optimizer: Optimizer, warmup_steps: NotNegative = 0) -> LambdaLR:
    """Return a schedule with linear warmup to a constant rate.

    The share of the maximum rate at step n, counted from 1, is min(n / max(`warmup_steps`, 1), 1).

    Args:
        optimizer: Its `lr` is the maximum rate.
        warmup_steps: Number of steps of linear warmup.
    """
    return LambdaLR(optimizer, lambda step: min((step + 1) / max(warmup_steps, 1), 1.0))


def warmup_ema(decay: Share = 0.999) -> Callable[[Any, Any, Any], None]:
    """Return the update rule of an exponential moving average with a smaller decay at the start.

        average = d average + (1 - d) weights,  d = min(decay, (1 + n) / (10 + n)) after n earlier updates

    The first update, n = 0, copies the weights.

    Args:
        decay: Maximum share of the average that is kept at each step.

    Returns:
        A `multi_avg_fn` of `torch.optim.swa_utils.AveragedModel`.
    """

    def update(averages: Any, weights: Any, num_averaged: Any) -> None:
        number = int(num_averaged)
        get_ema_multi_avg_fn(min(decay, (1 + number) / (10 + number)))(averages, weights, num_averaged)

    return update


def moving_average(decay: Share = 0.999, **options: Any) -> WeightAveraging:
    """Return a callback that averages the weights of all steps by `warmup_ema`; `options` are those of the callback."""
    return WeightAveraging(multi_avg_fn=warmup_ema(decay), **options)
