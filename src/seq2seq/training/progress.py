"""Progress on the terminal: a bar where there is one, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from seq2seq.evaluation.metrics import METRICS, progress_in


class ProgressReport(Callback):
    """Loss, target tokens a second and remaining time while training; a line each validation.

    Where there is no bar, epochs without a validation have a line, too.

    Args:
        total_steps: optimiser steps of the whole training.
        monitored: the score that the line tells, a name in `METRICS`; BLEU where that is the loss,
            which stands there anyhow, or nothing (``last``).
    """

    def __init__(self, *, total_steps: int, monitored: str) -> None:
        # a notebook asks for colours, but is no terminal
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        self._console = Console(soft_wrap=True, force_jupyter=False, force_terminal=is_terminal)
        self._total_steps = total_steps
        self._score = "bleu" if monitored in ("loss", "last") else monitored
        self._progress = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.3f}"),
            TextColumn("{task.fields[speed]:,.0f} tokens/s"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task(
            "training", total=total_steps, epoch="", loss=float("nan"), speed=0.0
        )
        self._started = 0.0
        self._first_step = 0
        self._told = -1

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Show the bar."""
        self._started, self._first_step = time.monotonic(), trainer.global_step
        self._progress.start()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Advance the bar."""
        metrics = trainer.callback_metrics
        self._progress.update(
            self._task,
            completed=trainer.global_step,
            epoch=f"{trainer.current_epoch + 1}/{trainer.max_epochs}",
            loss=float(metrics.get("train/loss", torch.nan)),
            speed=float(metrics.get("train/tokens_per_second", 0.0)),
        )

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Print the scores."""
        metrics = _numbers(trainer)
        scores = f", validation {metrics['validation/loss']:.3f}  {self._scored(metrics)}"
        self._tell(trainer, metrics, scores)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Print what else would be silence."""
        if trainer.current_epoch > self._told and not self._console.is_terminal:
            self._tell(trainer, _numbers(trainer), "")

    def _tell(self, trainer: pl.Trainer, metrics: Mapping[str, float], scores: str) -> None:
        self._told = trainer.current_epoch
        self._console.print(
            f"epoch {trainer.current_epoch + 1:>3}/{trainer.max_epochs}  "
            f"step {trainer.global_step:>6}  "
            f"loss {metrics.get('train/loss', float('nan')):.3f}{scores}  "
            f"{metrics.get('train/tokens_per_second', 0):,.0f} tokens/s  "
            f"{self._remaining(trainer.global_step)} left",
            highlight=False,
        )

    def _scored(self, metrics: Mapping[str, float]) -> str:
        """The score with its title; what is not of a hundred with three digits."""
        metric, value = METRICS[self._score], metrics[progress_in(self._score)[0]]
        return f"{metric.title} {value:.{3 if metric.score is None else 1}f}"

    def _remaining(self, step: int) -> str:
        """Time to the last step at the speed so far, as m:ss."""
        done = max(step - self._first_step, 1)
        left = max(self._total_steps - step, 0)
        seconds = round((time.monotonic() - self._started) / done * left)
        return f"{seconds // 60}:{seconds % 60:02d}"

    def on_exception(self, *_: Any) -> None:
        """Remove the bar: after an exception there is no teardown."""
        self._progress.stop()

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:  # noqa: ARG002
        """Remove the bar."""
        self._progress.stop()


def _numbers(trainer: pl.Trainer) -> dict[str, float]:
    return {name: float(value) for name, value in trainer.callback_metrics.items()}
