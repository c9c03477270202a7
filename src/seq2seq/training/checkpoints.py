"""When a run writes its checkpoints, and what is in them besides what Lightning puts there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback

from seq2seq.errors import TrainingFailed

BATCHES = "epoch_loop.batch_progress"
VALIDATION_BATCHES = "epoch_loop.val_loop.batch_progress"


def at_step_end(trainer: pl.Trainer, batch_index: int) -> bool:
    """Whether the batch ended an optimiser step inside an epoch.

    There a checkpoint needs no gradients. The end of an epoch is another matter: a validation may
    follow, and `resume_before_validation` is how it is not skipped.
    """
    ends_step = (batch_index + 1) % trainer.accumulate_grad_batches == 0
    return ends_step and not trainer.is_last_batch and not trainer.should_stop


def resume_before_validation(loops: dict[str, Any], num_batches: int) -> None:
    """Change the state of Lightning's loops to that between the last batch and the validation.

    Lightning 2.6 finishes a validation that it finds begun, its first batch included; one that it
    finds finished it repeats or leaves out, depending on where the checkpoint was taken. Nothing
    that a checkpoint holds changes before the end of a validation.

    Args:
        loops: the state, which is changed.
        num_batches: batches of an epoch; a validation that came sooner, because training was to
            stop, is resumed at the end of the epoch.
    """
    fit = loops["fit_loop"]
    done = ("ready", "started", "processed", "completed")
    fit[BATCHES] |= {"is_last_batch": True, "current": dict.fromkeys(done, num_batches)}
    begun = {"ready": 1, "started": 1, "processed": 0, "completed": 0}
    fit[VALIDATION_BATCHES] |= {
        "total": dict(begun),
        "current": dict(begun),
        "is_last_batch": False,
    }


class CheckpointContents(Callback):
    """Adds to every checkpoint, and refuses weights that are not numbers.

    Args:
        parts: what to add: a name, and what gives the plain value at that moment.
    """

    def __init__(self, parts: dict[str, Callable[[], Any]]) -> None:
        self._parts = parts

    def on_save_checkpoint(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,  # noqa: ARG002
        checkpoint: dict[str, Any],
    ) -> None:
        """Add the parts.

        Raises:
            TrainingFailed: a weight is NaN or infinite.
        """
        for name, tensor in checkpoint["state_dict"].items():
            if not tensor.isfinite().all():
                raise TrainingFailed(
                    f"step {trainer.global_step}: {name} holds NaN or infinity and is not saved; "
                    "the checkpoints before are kept: lower optim.learning_rate"
                )
        if trainer.validating:
            resume_before_validation(checkpoint["loops"], int(trainer.num_training_batches))
        checkpoint |= {name: value() for name, value in self._parts.items()}


class KeepBest(Callback):
    """Writes a checkpoint at every validation that is better than all before.

    Args:
        path: where to.
        monitor: the metric.
        mode: ``min`` or ``max``.
    """

    def __init__(self, path: Path, *, monitor: str, mode: str) -> None:
        self._path = path
        self._monitor = monitor
        self._sign = 1.0 if mode == "max" else -1.0
        self._best = -float("inf")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Write, if it is the best."""
        value = self._sign * float(trainer.callback_metrics[self._monitor])
        if value > self._best:
            self._best = value
            trainer.save_checkpoint(self._path)

    def state_dict(self) -> dict[str, Any]:
        """The best value."""
        return {"best": self._best}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue to compare with the best value."""
        self._best = state_dict["best"]


class KeepLast(Callback):
    """Writes a checkpoint at the end of every epoch, and inside it every so many steps.

    Args:
        path: where to.
        every: optimiser steps; None for the ends of epochs only.
    """

    def __init__(self, path: Path, *, every: int | None) -> None:
        self._path = path
        self._every = every

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,  # noqa: ARG002
        outputs: Any,  # noqa: ARG002
        batch: Any,  # noqa: ARG002
        batch_idx: int,
    ) -> None:
        """Write, if it is time."""
        due = self._every is not None and trainer.global_step % self._every == 0
        if due and at_step_end(trainer, batch_idx):
            trainer.save_checkpoint(self._path)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Write."""
        trainer.save_checkpoint(self._path)
