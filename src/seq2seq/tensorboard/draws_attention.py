"""When attention is drawn."""

from abc import ABC, abstractmethod
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback

from seq2seq.tensorboard.event_log import drawing


class DrawsAttention(Callback, ABC):
    """Draws at every validation, and between them.

    Validations show the averaged weights, where there are such, and between them the trained ones.

    Args:
        every: optimiser steps from one time to the next; None: at validations alone.
    """

    def __init__(self, every: int | None) -> None:
        self._every = every
        self._latest_step = 0

    @abstractmethod
    def draw(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Draw what there is to see of a model that neither drops nor learns."""

    def draw_more(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """What takes too long to be drawn often, and is left to validations."""

    @drawing
    def on_validation_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Draw."""
        self.draw(trainer, pl_module)
        self.draw_more(trainer, pl_module)

    def on_train_start(self, trainer: pl.Trainer, *_: Any) -> None:
        """A training that continues has drawn where it was."""
        self._latest_step = trainer.global_step

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: Any, *_: Any) -> None:
        """Draw, if it is time and no validation is about to."""
        step, latest = trainer.global_step, self._latest_step
        self._latest_step = step
        if self._every is None or step == latest or step % self._every or _validates_now(trainer):
            return
        pl_module.eval()
        with torch.no_grad():
            self._draw(trainer, pl_module)
        pl_module.train()

    @drawing
    def _draw(self, trainer: pl.Trainer, pl_module: Any) -> None:
        self.draw(trainer, pl_module)


def _validates_now(trainer: pl.Trainer) -> bool:
    every = trainer.check_val_every_n_epoch or 1
    return trainer.is_last_batch and (trainer.current_epoch + 1) % every == 0
