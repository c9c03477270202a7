"""Callback that averages the weights of epochs."""

from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import WeightAveraging

from seq2seq.common.numbers import Positive
from seq2seq.common.progress import warn


class EpochMean(WeightAveraging):
    """Validate and export the mean of the weights at the ends of epochs; before the first, the current weights.

    An epoch that is not trained to its end is not in it.

    Args:
        start_epoch: The first epoch in the mean, counted from 1.
    """

    def __init__(self, start_epoch: Positive = 1) -> None:
        super().__init__()
        self.start_epoch = start_epoch

    def should_update(self, step_idx: int | None = None, epoch_idx: int | None = None) -> bool:
        """Return whether to add the weights to the mean: at epoch ends."""
        return epoch_idx is not None and epoch_idx + 1 >= self.start_epoch

    def _follow(self, pl_module: pl.LightningModule) -> None:
        """Copy the current weights while there is no mean."""
        if self._average_model is not None and not self._average_model.n_averaged:
            self._average_model.module.load_state_dict(pl_module.state_dict())

    def on_validation_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Add the weights of an epoch before the validation at its end."""
        if trainer.state.fn == "fit" and not trainer.sanity_checking and trainer.is_last_batch:
            self.on_train_epoch_end(trainer, pl_module)
        self._follow(pl_module)
        super().on_validation_epoch_start(trainer, pl_module)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Add the weights of this epoch, once."""
        if trainer.is_last_batch and trainer.current_epoch > self._latest_update_epoch:
            super().on_train_epoch_end(trainer, pl_module)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Give the module the mean; warn if no epoch is in it."""
        if trainer.is_global_zero and self._average_model is not None and not self._average_model.n_averaged:
            warn(
                f"start_epoch={self.start_epoch} has no effect here: the training ended before, without a mean of epochs"
            )
        self._follow(pl_module)
        super().on_train_end(trainer, pl_module)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Save the mean as the weights of the model."""
        self._follow(pl_module)
        super().on_save_checkpoint(trainer, pl_module, checkpoint)

    def state_dict(self) -> dict[str, Any]:
        """Add the epoch of the last update, which a resumed run must not count twice."""
        return super().state_dict() | {"latest_update_epoch": self._latest_update_epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the epoch of the last update."""
        super().load_state_dict(state_dict)
        self._latest_update_epoch = state_dict["latest_update_epoch"]
