"""A learning rate that falls where validation stops improving."""

from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback
from torch.optim.lr_scheduler import ReduceLROnPlateau

from seq2seq.training.form import require_form
from seq2seq.training.module import TranslationModule
from seq2seq.training.optimisation import Optimisation


class PlateauSchedule(Callback):
    """Lowers the rate at the end of a validation.

    (Lightning 2.6 steps such a schedule after it has written the checkpoint of the epoch, and not
    at all in an epoch that was resumed.)

    Args:
        optimisation: builds the schedule, and names the metric.
    """

    def __init__(self, optimisation: Optimisation) -> None:
        self._optimisation = optimisation
        self._schedule: ReduceLROnPlateau | None = None
        self._restored: dict[str, Any] | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Build the schedule; the optimiser is there by now, with its rate."""
        self._schedule = self._optimisation.build_plateau_schedule(trainer.optimizers[0])
        if self._restored is not None:
            self._schedule.load_state_dict(self._restored)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Look at the metric."""
        if self._schedule is not None:
            self._schedule.step(float(trainer.callback_metrics[self._optimisation.monitor]))

    def state_dict(self) -> dict[str, Any]:
        """State of the schedule."""
        return {} if self._schedule is None else self._schedule.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the state for the start of training."""
        self._restored = state_dict or None

    def require_state(self, found: Any, module: TranslationModule) -> None:
        """Check what `load_state_dict` is to get.

        Raises:
            ValueError: it is no state of such a schedule.
        """
        fresh = self._optimisation.build_plateau_schedule(module.fresh_optimisation()[0])
        require_form(found, fresh.state_dict(), "callbacks.PlateauSchedule")
