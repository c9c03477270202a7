"""Learning-rate schedules by optimizer steps."""

import math

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(
    optimizer: Optimizer, total_steps: int, warmup_steps: int = 100, final_fraction: float = 0.01
) -> LambdaLR:
    """Grow linearly, then follow a cosine down to a fraction of the greatest rate.

    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, one period.

    Args:
        optimizer: Its `lr` is the greatest rate.
        total_steps: Optimizer steps of the whole training.
        warmup_steps: Steps of linear growth.
        final_fraction: Share of the greatest rate at the last step.
    """
    decay_steps = max(total_steps - warmup_steps, 1)

    def fraction(step: int) -> float:
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        progress = min((step - warmup_steps) / decay_steps, 1.0)
        return final_fraction + (1 - final_fraction) * 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, fraction)


def warmup_constant(optimizer: Optimizer, warmup_steps: int = 0) -> LambdaLR:
    """Grow linearly, then stay at the greatest rate.

    Args:
        optimizer: Its `lr` is the greatest rate.
        warmup_steps: Steps of linear growth.
    """
    return LambdaLR(optimizer, lambda step: min((step + 1) / max(warmup_steps, 1), 1.0))
