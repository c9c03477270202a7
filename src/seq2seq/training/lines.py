"""Callbacks: a line an epoch, translations as text, reports to a sweeper."""

import html
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback, RichProgressBar, Timer, TQDMProgressBar

from hydra_plugins.hydra_subprocess_launcher import report
from lightning_exact_resume import callbacks_of, is_dry, lengths
from seq2seq.common.numbers import NotNegative
from seq2seq.common.progress import counted
from seq2seq.common.written import claim
from seq2seq.data.datamodule import prepared_of

FIRST, WARM = 20, 3
"""Steps whose time says how long the training takes, and those before them, which are slower."""


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class EpochLines(Callback):
    """Print how long the training takes, by its first steps, and one line per epoch: losses, a score, speed, and the remaining time.

    Args:
        score: Logged name of the score.
    """

    def __init__(self, score: str = "val/bleu") -> None:
        self.score = score
        self._started, self._first_step, self._warm = 0.0, 0, 0.0
        self._total = self._last = -1
        self._validated = False

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock; a training that continues within an epoch does not begin one."""
        self._started, self._first_step = time.monotonic(), trainer.global_step
        self._warm = 0.0
        if prepared_of(trainer) is not None:  # else Lightning would begin the data again
            self._total, self._last = (lengths(trainer)[each] for each in ("step", "last"))

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Name the epoch as the lines do."""
        self._validated = False
        self._total, self._last = (lengths(trainer)[each] for each in ("step", "last"))
        self.on_train_batch_start(trainer, pl_module)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Remember that the scores are of this epoch."""
        self._validated = not trainer.sanity_checking

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
        """Let a progress bar count epochs from 1, as the lines do, and tell the time left of the training; Lightning's is the epoch's."""
        bar, of_epochs = trainer.progress_bar_callback, f"/{self._last}" if self._last > 0 else ""
        seconds = self._seconds_left(trainer)
        left = (
            f", {duration(seconds)} left"
            if seconds and trainer.global_step - self._first_step > WARM + FIRST
            else ""
        )
        title = f"Epoch {trainer.current_epoch + 1}{of_epochs}{left}"
        if isinstance(bar, RichProgressBar) and bar.progress and bar.train_progress_bar_id is not None:
            bar.progress.update(bar.train_progress_bar_id, description=title)
        elif isinstance(bar, TQDMProgressBar) and bar.is_enabled:
            bar.train_progress_bar.set_description(title, refresh=False)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the line."""
        if not trainer.is_global_zero:
            return
        values = {name: float(value) for name, value in trainer.callback_metrics.items()}
        of_epochs = f"/{self._last}" if self._last > 0 else ""  # no limit
        parts = [f"epoch {trainer.current_epoch + 1:>3}{of_epochs}", f"step {trainer.global_step:>6}"]
        if not self._validated:  # those of an earlier epoch
            values = {name: value for name, value in values.items() if not name.startswith("val/")}
        for name, title in (("train/loss", "loss"), ("val/loss", "val loss")):
            if name in values:
                parts.append(f"{title} {values[name]:.3f}")
        if self.score in values:
            parts.append(f"{self.score.rpartition('/')[2].upper()} {values[self.score]:.1f}")
        if "train/tokens_per_second" in values:
            parts.append(f"{values['train/tokens_per_second']:,.0f} tokens/s")
        if (left := self._seconds_left(trainer)) is not None:
            seconds = round(left)
            parts.append(f"{seconds // 60}:{seconds % 60:02d} left")
        self._print(trainer, "  ".join(parts))
        bar = trainer.progress_bar_callback
        if isinstance(bar, RichProgressBar) and bar.progress and bar.train_progress_bar_id is not None:
            # the last would stay; the next epoch shows it again
            bar.progress.update(bar.train_progress_bar_id, visible=False)

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
        """Print the length of the training after its first steps."""
        done = trainer.global_step - self._first_step
        if done == WARM and not self._warm:
            self._warm = time.monotonic()
        if done != WARM + FIRST or not self._warm or not trainer.is_global_zero:
            return
        left = self._total - trainer.global_step
        if left > 10 * FIRST:
            seconds = (time.monotonic() - self._warm) / FIRST * left
            epochs = f", {counted(self._last, 'epoch')}" if self._last > 0 else ""
            about = f"about {duration(seconds)} by the first {FIRST}, and the validations"
            limits = [each.time_remaining() for each in callbacks_of(trainer) if isinstance(each, Timer)]
            ends = [f"; it ends in {duration(limit)}" for limit in limits if limit and limit < seconds]
            self._print(trainer, f"length      {self._total:,} steps{epochs}: {about}{''.join(ends)}")
        self._warm = 0.0

    def _seconds_left(self, trainer: pl.Trainer) -> float | None:
        """Return the time of the steps that are left, as fast as those of this start; None for a training without an end."""
        done, left = trainer.global_step - self._first_step, max(self._total - trainer.global_step, 0)
        return (time.monotonic() - self._started) / max(done, 1) * left if self._total >= 0 else None

    def _print(self, trainer: pl.Trainer, line: str) -> None:
        bar = trainer.progress_bar_callback
        if isinstance(bar, RichProgressBar) and bar.progress is not None:
            bar.progress.console.out(line, highlight=False)  # does not break it, unlike `print`
        elif bar is not None and getattr(bar, "is_enabled", False):
            bar.print(line)
        else:
            print(line, flush=True)


def as_markdown(text: str) -> str:
    """Return a text as a cell of a table in Markdown, in which no sign has a meaning."""
    return re.sub(r"[\\`*_{}\[\]()#+\-.!|]", r"\\\g<0>", html.escape(" ".join(text.split()), quote=False))


class TranslationSamples(Callback):
    """Log validation sentences with reference and greedy translation as text, at every validation.

    Args:
        sentences: Number of sentences, from the start of the validation split.
        texts: Your own sentences: the run ends with their translations.
    """

    def __init__(self, sentences: NotNegative = 8, texts: Sequence[str] = ()) -> None:
        self.sentences, self.texts = sentences, list(texts)

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write a Markdown table to loggers that show text."""
        scores: Any = pl_module.scores
        data, found = prepared_of(trainer), scores.sums.translations
        if trainer.sanity_checking or not trainer.is_global_zero or data is None:
            return
        pairs = {place: data.validation.pairs[place] for place in sorted(found) if place < self.sentences}
        rows = [(pair.source, pair.target, found[place]) for place, pair in pairs.items()]
        cells = [" | ".join(as_markdown(text) for text in row) for row in rows]
        table = "\n".join(
            ["| source | reference | translation |", "|---|---|---|", *(f"| {c} |" for c in cells)]
        )
        for logger in trainer.loggers:
            add_text = getattr(getattr(logger, "experiment", None), "add_text", None)
            if rows and add_text is not None:
                add_text("translations", table, trainer.global_step)


class Report(Callback):
    """Report a score at every validation, in ``reports.jsonl``, to a sweeper, which may end the run early.

    The step of a report is the number of the validation; a run that continues counts on.

    Args:
        metric: Logged name of the score; one that is not logged at validations is not reported.
        dirpath: Folder of the run.
    """

    def __init__(self, metric: str, dirpath: str) -> None:
        self.metric, self.folder = metric, Path(dirpath)
        self._num_validations = 0

    def state_dict(self) -> dict[str, Any]:
        """Return the number of validations."""
        return {"num_validations": self._num_validations}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Count on."""
        self._num_validations = state_dict["num_validations"]

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write a line."""
        if trainer.state.fn != "fit" or trainer.sanity_checking or is_dry(trainer):
            return
        self._num_validations += 1
        value = trainer.callback_metrics.get(self.metric)
        if value is not None and trainer.is_global_zero:
            claim(self.folder / "reports.jsonl")
            report(float(value), self._num_validations, self.folder)
