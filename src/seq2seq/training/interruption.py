"""Ends training cleanly before its last epoch: at a step, or when somebody asks for it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback, EarlyStopping

from seq2seq.errors import TrainingInterrupted
from seq2seq.signals import STOP_SIGNALS, give_back, insists, stop_signals, take
from seq2seq.training.checkpoints import at_step_end
from seq2seq.training.process_group import ALONE, ProcessGroup


class StopAtStep(Callback):
    """Ends training after a number of optimiser steps, with a validation.

    (Lightning's own bound leaves the validation out.)

    Args:
        max_steps: the number of steps.
    """

    def __init__(self, max_steps: int) -> None:
        self._max_steps = max_steps

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Stop at once where an earlier attempt was complete, its last validation included."""
        validated = not trainer.fit_loop.epoch_loop.val_loop.restarted_mid_evaluation
        if validated:
            self._stop_if_reached(trainer)

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Ask the trainer to stop."""
        self._stop_if_reached(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Ask the trainer to stop, where training was resumed for this validation only."""
        self._stop_if_reached(trainer)

    def _stop_if_reached(self, trainer: pl.Trainer) -> None:
        if trainer.global_step >= self._max_steps:
            trainer.should_stop = True


class StopWithoutProgress(EarlyStopping):
    """Early stopping that a resumed run remembers, should it have been decided already."""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Stop at once where an earlier attempt was to stop."""
        if self.wait_count >= self.patience:
            trainer.should_stop = True


def requeue_command(environment: Mapping[str, str]) -> list[str] | None:
    """The command that puts this SLURM job back into its queue; None outside of SLURM."""
    job = environment.get("SLURM_JOB_ID")
    if "SLURM_ARRAY_JOB_ID" in environment and "SLURM_ARRAY_TASK_ID" in environment:
        job = f"{environment['SLURM_ARRAY_JOB_ID']}_{environment['SLURM_ARRAY_TASK_ID']}"
    if job is None or not re.fullmatch(r"[0-9_]+", job):
        return None
    return ["scontrol", "requeue", job]


class StopOnSignal(Callback):
    """On Ctrl-C (SIGINT), SIGTERM or SIGHUP: finish the step, write a checkpoint, stop.

    A second SIGINT or SIGTERM ends the process at once, or, where it is a notebook or a prompt, the
    call alone; checkpoints are written whole or not at all. On SIGUSR1: write a checkpoint and go
    on, or, under SLURM, put the job back into its queue and stop.

    Of several processes, all act after the same step as soon as one has got a signal.

    Listens inside of a ``with`` block, which is to hold the fit; in the main thread only.

    Args:
        checkpoint: where to write.
        requeue: what to run on SIGUSR1 after the checkpoint; None to go on.
        job: the processes that train together.
    """

    def __init__(
        self, checkpoint: Path, *, requeue: list[str] | None = None, job: ProcessGroup = ALONE
    ) -> None:
        self._job = job
        self._checkpoint = checkpoint
        self._requeue = requeue
        self._received: int | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "StopOnSignal":
        self._previous = take((*stop_signals(), signal.SIGUSR1), self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        give_back(self._previous)
        self._previous = {}

    def _receive(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if insists(number, self._received):
            if hasattr(sys, "ps1"):  # a session, in which a person has more than this training
                raise KeyboardInterrupt
            os.write(2, b"\nleaving at once\n")
            os._exit(128 + number)
        if self._received not in STOP_SIGNALS:
            self._received = number

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Take the signals back from Lightning, which would stop without a checkpoint."""
        take(self._previous, self._receive)
        received = self._job.greatest(self._received or 0)
        if received in STOP_SIGNALS:
            exists = self._checkpoint.exists()
            raise TrainingInterrupted(received, self._checkpoint if exists else None)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,  # noqa: ARG002
        outputs: Any,  # noqa: ARG002
        batch: Any,  # noqa: ARG002
        batch_idx: int,
    ) -> None:
        """Act after the step during which the signal came."""
        if at_step_end(trainer, batch_idx):
            self._act(trainer)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Act after the last step of an epoch."""
        self._act(trainer)

    def on_validation_batch_end(self, trainer: pl.Trainer, *_: Any, **__: Any) -> None:
        """Act inside of a validation, which a resumed run repeats."""
        self._act(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Act at the end of an epoch."""
        self._act(trainer)

    def _act(self, trainer: pl.Trainer) -> None:
        received = self._job.greatest(self._received or 0)
        if not received:
            return
        self._received = None
        trainer.save_checkpoint(self._checkpoint)
        if received == signal.SIGUSR1:
            print(f"step {trainer.global_step}: checkpoint written as asked by SIGUSR1")
            if self._requeue is None:
                return
            if self._job.is_first:
                subprocess.run(self._requeue, check=False)
        raise TrainingInterrupted(received, self._checkpoint)
