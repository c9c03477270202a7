"""Ends training cleanly before its last epoch: at a step, or when somebody asks for it."""

import signal
from pathlib import Path
from types import FrameType
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback

from seq2seq.errors import TrainingInterrupted


class StopAtStep(Callback):
    """Ends training after a number of optimiser steps, with a validation.

    (Lightning's own bound leaves the validation out.)

    Args:
        max_steps: the number of steps.
    """

    def __init__(self, max_steps: int) -> None:
        self._max_steps = max_steps

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Ask the trainer to stop."""
        if trainer.global_step >= self._max_steps:
            trainer.should_stop = True


class StopOnSignal(Callback):
    """On Ctrl-C (SIGINT) or SIGTERM: finish the step, write a checkpoint, stop.

    A second signal meets the handlers that were there before, and so stops at once.

    Args:
        checkpoint: where to write.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._received: int | None = None
        self._previous: dict[int, Any] = {}

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Listen."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._receive)

    def _receive(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._received = number
        self._restore_handlers()

    def _restore_handlers(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Stop after the step during which the signal came."""
        self._stop_if_asked(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Stop after the validation during which the signal came."""
        self._stop_if_asked(trainer)

    def _stop_if_asked(self, trainer: pl.Trainer) -> None:
        if self._received is None:
            return
        trainer.save_checkpoint(self._checkpoint)
        raise TrainingInterrupted(self._received, self._checkpoint)

    # not in teardown: by then Lightning has put back its own handlers

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Stop listening."""
        self._restore_handlers()

    def on_exception(
        self,
        trainer: pl.Trainer,  # noqa: ARG002
        pl_module: pl.LightningModule,  # noqa: ARG002
        exception: BaseException,  # noqa: ARG002
    ) -> None:
        """Stop listening."""
        self._restore_handlers()
