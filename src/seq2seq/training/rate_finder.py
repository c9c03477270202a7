"""Suggest a learning rate before a training: `callbacks=lr_finder`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import lightning.pytorch as pl
import numpy as np
from lightning.pytorch.callbacks import Callback, LearningRateFinder

from lightning_exact_resume import is_dry
from seq2seq.common.numbers import Positive, Rate
from seq2seq.common.progress import tell, warn
from tensorboard_attention import log_picture


@contextmanager
def searching(trainer: pl.Trainer, module: Any) -> Iterator[None]:
    """Count the batches of a step while Lightning has put all callbacks aside, without a limit of epochs and infinite losses."""
    sums, loop = module.training_sums, trainer.fit_loop
    most, sums.max_nonfinite_steps = sums.max_nonfinite_steps, sys.maxsize
    epochs, loop.max_epochs = loop.max_epochs, -1
    module.on_train_batch_start = partial(sums.on_train_batch_start, trainer, module)
    try:
        yield
    finally:
        del module.on_train_batch_start
        sums.max_nonfinite_steps, loop.max_epochs = most, epochs


class RateFinder(Callback):
    """Train some steps with growing rates, by Lightning's `LearningRateFinder`, and tell the rate at which the loss falls fastest.

    Then the training begins as without it: model, optimizer, random numbers and data are as they were, and so is the rate.
    Loggers that take pictures get the curve as ``lr_finder``. A training that continues does not ask again.

    Args:
        min_lr: First rate.
        max_lr: Last rate.
        num_training_steps: Number of optimizer steps, of which the first ten are left out.
        early_stop_threshold: End where the loss is so many times the smallest one; None: never.
    """

    def __init__(
        self,
        *,
        min_lr: Rate = 1e-6,
        max_lr: Rate = 1.0,
        num_training_steps: Positive = 100,
        early_stop_threshold: Rate | None = 4.0,
    ) -> None:
        self.finder = LearningRateFinder(
            min_lr=min_lr, max_lr=max_lr, num_training_steps=num_training_steps,
            early_stop_threshold=early_stop_threshold, update_attr=False,
        )  # fmt: skip

    def on_fit_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Find the rate, and tell it."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        if trainer.ckpt_path is not None or is_dry(trainer):
            return
        group = trainer.optimizers[0].param_groups[0]
        own = group.get("initial_lr", group["lr"])  # which a schedule multiplies
        with searching(trainer, pl_module):
            self.finder.lr_find(trainer, pl_module)
        found = self.finder.optimal_lr
        rate = None if found is None else found.suggestion()
        if found is None or not trainer.is_global_zero:
            return
        if rate is None:
            warn("lr_finder: too few steps for a suggestion: raise callbacks.lr_finder.num_training_steps")
            return
        tell(
            f"note        lr_finder: optimizer.lr={rate:.2g} is suggested, at which the loss falls fastest; this training keeps "
            f"{own:.2g}"
        )
        figure = Figure(figsize=(6, 4), layout="constrained")
        canvas = FigureCanvasAgg(figure)
        found.plot(suggest=True, ax=figure.subplots())
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3]
        for logger in trainer.loggers:
            log_picture(logger, "lr_finder", pixels, trainer.global_step)
