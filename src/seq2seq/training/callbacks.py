"""Callbacks: a line an epoch, translations as text, exact continuation, signals, mean of epochs."""

import random
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint, WeightAveraging

from seq2seq.errors import TrainingInterrupted
from seq2seq.training.schedules import total_steps


class EpochLines(Callback):
    """Print one line per epoch: losses, a score, speed, and the remaining time.

    Args:
        score: Logged name of the score.
    """

    def __init__(self, score: str = "val/bleu") -> None:
        self.score = score
        self._started, self._first_step = 0.0, 0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self._started, self._first_step = time.monotonic(), trainer.global_step

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the line."""
        if not trainer.is_global_zero:
            return
        values = {name: float(value) for name, value in trainer.callback_metrics.items()}
        parts = [
            f"epoch {trainer.current_epoch + 1:>3}/{trainer.max_epochs}",
            f"step {trainer.global_step:>6}",
        ]
        if (trainer.current_epoch + 1) % (trainer.check_val_every_n_epoch or 1):  # those of an earlier epoch
            values = {name: value for name, value in values.items() if not name.startswith("val/")}
        for name, title in (("train/loss", "loss"), ("val/loss", "val loss")):
            if name in values:
                parts.append(f"{title} {values[name]:.3f}")
        if self.score in values:
            parts.append(f"{self.score.rpartition('/')[2].upper()} {values[self.score]:.1f}")
        if "train/tokens_per_second" in values:
            parts.append(f"{values['train/tokens_per_second']:,.0f} tokens/s")
        done = max(trainer.global_step - self._first_step, 1)
        left = max(total_steps(trainer) - trainer.global_step, 0)
        seconds = round((time.monotonic() - self._started) / done * left)
        parts.append(f"{seconds // 60}:{seconds % 60:02d} left")
        print("  ".join(parts), flush=True)


class TranslationSamples(Callback):
    """Log validation sentences with reference and greedy translation as text, at every validation.

    Args:
        sentences: Number of sentences, from the start of the validation split.
    """

    def __init__(self, sentences: int = 8) -> None:
        self.sentences = sentences

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write a Markdown table to loggers that show text."""
        data, found = trainer.datamodule, getattr(pl_module, "translations", {})
        if trainer.sanity_checking or trainer.fast_dev_run or not trainer.is_global_zero or data is None:
            return
        places = [place for place in sorted(found) if place < self.sentences]
        rows = [
            (data.validation.pairs[place].source, data.validation.pairs[place].target, found[place])
            for place in places
        ]
        cells = [" | ".join(text.replace("|", "\\|") for text in row) for row in rows]
        table = "\n".join(
            ["| source | reference | translation |", "|---|---|---|", *(f"| {c} |" for c in cells)]
        )
        for logger in trainer.loggers:
            if rows and hasattr(logger.experiment, "add_text"):
                logger.experiment.add_text("translations", table, trainer.global_step)


class ResumeState(Callback):
    """Save the states of the random number generators in checkpoints, which Lightning does not.

    They are restored in `on_train_start`: Lightning draws random numbers between loading a checkpoint and the
    first batch. Until then `max_steps` is hidden from Lightning: with it, version 2.6 counts the last epoch of a
    checkpoint that was saved at the end of an epoch twice.
    """

    def __init__(self) -> None:
        self._restored: dict[str, Any] | None = None
        self._max_steps = -1

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Hide `max_steps` while Lightning restores the progress of training."""
        self._max_steps, trainer.fit_loop.epoch_loop.max_steps = trainer.max_steps, -1

    def state_dict(self) -> dict[str, Any]:
        """Return the states of Python's, numpy's and torch's generators."""
        version, numbers, gauss = random.getstate()
        name, keys, place, has_gauss, cached = np.random.get_state()
        state: dict[str, Any] = {
            "torch": torch.get_rng_state(),
            "python": [version, list(numbers), gauss],
            "numpy": [name, torch.from_numpy(keys.astype(np.int64)), place, has_gauss, cached],
        }
        if torch.cuda.is_available():
            state["cuda"] = torch.cuda.get_rng_state()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Store the states until training starts."""
        self._restored = state_dict

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restore `max_steps`, and the states in the main process only."""
        trainer.fit_loop.epoch_loop.max_steps = self._max_steps
        if self._restored is None or not trainer.is_global_zero:
            return
        torch.set_rng_state(self._restored["torch"].cpu())
        version, numbers, gauss = self._restored["python"]
        random.setstate((version, tuple(numbers), gauss))
        name, keys, place, has_gauss, cached = self._restored["numpy"]
        np.random.set_state((name, keys.cpu().numpy().astype(np.uint32), place, has_gauss, cached))
        if "cuda" in self._restored and torch.cuda.is_available():
            torch.cuda.set_rng_state(self._restored["cuda"].cpu())
        self._restored = None


class PeriodicCheckpoint(ModelCheckpoint):
    """Save checkpoints within epochs, but not after the last batch of an epoch.

    The validation after the last batch is part of the epoch: a run that resumed there would skip it.
    """

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save as `ModelCheckpoint` does."""
        if not trainer.is_last_batch:
            super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)


class StopOnSignal(Callback):
    """Finish the step, save ``last.ckpt`` and end training after SIGTERM or Ctrl-C.

    A signal during a validation takes effect after it. A second signal ends the program at once.

    Raises:
        TrainingInterrupted: After the checkpoint was saved.
    """

    SIGNALS = signal.SIGTERM, signal.SIGINT

    def __init__(self) -> None:
        self._received: int | None = None
        self._before: dict[int, Any] = {}

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Install the signal handlers; those of Lightning would exit without a checkpoint."""
        if threading.current_thread() is threading.main_thread():
            self._received = None
            self._before = {each: signal.signal(each, self._receive) for each in self.SIGNALS}

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self._received = number
        print("\nstopping after this step; once more to stop at once", file=sys.stderr, flush=True)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save and stop, unless the epoch ends here and its validation follows."""
        if self._received is not None and not trainer.is_last_batch:
            self._stop(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save and stop after the last batch of an epoch."""
        if self._received is not None:
            self._stop(trainer)

    def _stop(self, trainer: pl.Trainer) -> None:
        folder = getattr(trainer.checkpoint_callback, "dirpath", None) or trainer.default_root_dir
        path = Path(folder) / "last.ckpt"
        trainer.save_checkpoint(path)
        name = signal.Signals(self._received).name
        raise TrainingInterrupted(
            self._received, f"stopped by {name}, saved {path}; the same command continues"
        )

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restore the signal handlers of Lightning, which then restores those that it found."""
        self._restore()

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Restore the signal handlers."""
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


class EpochMean(WeightAveraging):
    """Validate and export the mean of the weights at the ends of epochs.

    Args:
        start_epoch: The first epoch in the mean, counted from 1.
    """

    def __init__(self, start_epoch: int = 1) -> None:
        super().__init__()
        self.start_epoch = start_epoch

    def should_update(self, step_idx: int | None = None, epoch_idx: int | None = None) -> bool:
        """Return whether to add the weights to the mean: at epoch ends."""
        return epoch_idx is not None and epoch_idx + 1 >= self.start_epoch

    def on_validation_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Add the weights of this epoch before it is validated."""
        if not trainer.sanity_checking:
            self.on_train_epoch_end(trainer, pl_module)
        super().on_validation_epoch_start(trainer, pl_module)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Add the weights of this epoch, once."""
        if trainer.current_epoch > self._latest_update_epoch:
            super().on_train_epoch_end(trainer, pl_module)

    def state_dict(self) -> dict[str, Any]:
        """Add the epoch of the last update, which a resumed run must not count twice."""
        return super().state_dict() | {"latest_update_epoch": self._latest_update_epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the epoch of the last update."""
        super().load_state_dict(state_dict)
        self._latest_update_epoch = state_dict["latest_update_epoch"]
