"""Tells somebody of every validation."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback

Entry = dict[str, float]


class History(Callback):
    """Hands on the metrics of each validation, those that are finite.

    Args:
        tell: gets epoch, step and every metric, by name.
    """

    def __init__(self, tell: Callable[[Entry], None]) -> None:
        self._tell = tell

    def on_validation_end(self, trainer: pl.Trainer, pl_module: Any) -> None:  # noqa: ARG002
        """Hand on."""
        metrics = {
            name: float(value)
            for name, value in trainer.callback_metrics.items()
            if name.startswith(("train/", "validation/", "alignment/")) and isfinite(value)
        }
        place = {"epoch": trainer.current_epoch + 1, "step": trainer.global_step}
        self._tell(place | metrics)
