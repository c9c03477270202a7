"""Callbacks: a line an epoch, translations as text, reports, exact continuation, signals; which checkpoint is kept."""

import atexit
import html
import math
import os
import random
import re
import shutil
import signal
import stat
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.pytorch.callbacks import (
    Callback,
    EarlyStopping,
    ModelCheckpoint,
    RichProgressBar,
    Timer,
    TQDMProgressBar,
    WeightAveraging,
)
from lightning.pytorch.utilities.exceptions import SIGTERMException

from hydra_plugins.hydra_subprocess_launcher import report
from seq2seq.common.numbers import NotNegative, Positive
from seq2seq.common.progress import warn
from seq2seq.common.written import claim
from seq2seq.data.datamodule import prepared_of
from seq2seq.errors import InputError, TrainingInterrupted
from seq2seq.training.checkpoint import (
    BorderCallback,
    PeriodicCheckpoint,
    callbacks_of,
    is_dry,
    read_checkpoint,
)
from seq2seq.training.schedules import lengths


class EpochLines(Callback):
    """Print one line per epoch: losses, a score, speed, and the remaining time.

    Args:
        score: Logged name of the score.
    """

    def __init__(self, score: str = "val/bleu") -> None:
        self.score = score
        self._started, self._first_step = 0.0, 0
        self._validated = False

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self._started, self._first_step = time.monotonic(), trainer.global_step

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Name the epoch as the lines do."""
        self._validated = False
        self.on_train_batch_start(trainer, pl_module)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Remember that the scores are of this epoch."""
        self._validated = not trainer.sanity_checking

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
        """Let a progress bar count epochs from 1, as the lines do; Lightning counts from 0."""
        bar, last = trainer.progress_bar_callback, trainer.max_epochs or -1
        title = f"Epoch {trainer.current_epoch + 1}" + (f"/{last}" if last > 0 else "")
        if isinstance(bar, RichProgressBar) and bar.progress and bar.train_progress_bar_id is not None:
            bar.progress.update(bar.train_progress_bar_id, description=title)
        elif isinstance(bar, TQDMProgressBar) and bar.is_enabled:
            bar.train_progress_bar.set_description(title, refresh=False)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the line."""
        if not trainer.is_global_zero:
            return
        values = {name: float(value) for name, value in trainer.callback_metrics.items()}
        of_epochs = f"/{trainer.max_epochs}" if (trainer.max_epochs or -1) > 0 else ""  # no limit
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
        done, total = max(trainer.global_step - self._first_step, 1), lengths(trainer)["step"]
        if total >= 0:
            left = max(total - trainer.global_step, 0)
            seconds = round((time.monotonic() - self._started) / done * left)
            parts.append(f"{seconds // 60}:{seconds % 60:02d} left")
        bar, line = trainer.progress_bar_callback, "  ".join(parts)
        if isinstance(bar, RichProgressBar) and bar.progress is not None:
            bar.progress.console.out(line, highlight=False)  # does not break it, unlike `print`
            if bar.train_progress_bar_id is not None:  # the last would stay; the next epoch shows it again
                bar.progress.update(bar.train_progress_bar_id, visible=False)
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
    """

    def __init__(self, sentences: NotNegative = 8) -> None:
        self.sentences = sentences

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


class ResumeState(Callback):
    """Save and restore what Lightning leaves out, so that a resumed run equals an uninterrupted one.

    - The states of the random number generators. They are restored in `on_train_start`: Lightning draws random
      numbers between loading a checkpoint and the first batch. Until then `max_steps` is hidden from Lightning: with
      it, version 2.6 counts the last epoch of a checkpoint that was saved at the end of an epoch twice.
    - Schedules that wait for validations (`ReduceLROnPlateau`) are updated here, after each validation: Lightning
      does it after the checkpoint of an epoch's end, and leaves it out in a resumed epoch.
    - That early stopping has ended the run, unless it is trained longer.
    - The places of the checkpoints, in a run that was moved or copied.
    - The patience of early stopping, which is the configuration's, not the checkpoint's.
    - Scores of other text are forgotten by early stopping and by the schedules that wait for validations.
    - Checksums of vocabularies and text: a run that continues has those with which it began.
    - The time of the training before, and the step of the last validation.

    Attributes:
        first_step: The step from which the latest training went on; None before.
        seconds_before: Time from the starts of the run to its checkpoint, without the latest start.
        validated_at: The step of the last validation.
    """

    def __init__(self) -> None:
        self.first_step: int | None = None
        self.validated_at = 0
        self.seconds_before, self._started = 0.0, time.monotonic()
        self._restored: dict[str, Any] | None = None
        self._max_steps = -1
        self._ended_at: list[int] | None = None

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
            "numpy": [name, torch.from_numpy(np.asarray(keys, np.int64)), place, has_gauss, cached],
        }
        if torch.cuda.is_available():
            state["cuda"] = torch.cuda.get_rng_state()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Store the states until training starts."""
        self._restored = state_dict

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Save the limits at which training has ended early (None: it goes on), and the states of all processes."""
        if trainer.world_size > 1:
            states: list[Any] = [None] * trainer.world_size
            torch.distributed.all_gather_object(states, self.state_dict())
            checkpoint["callbacks"][self.state_key] = {"processes": states}
        ended = trainer.should_stop and not out_of_time(trainer)  # of its time, Lightning keeps the count
        checkpoint["ended_at"] = [trainer.max_epochs, trainer.max_steps] if ended else None
        data = prepared_of(trainer)
        checkpoint["corpus"] = None if data is None else data.checksums
        checkpoint["validated_at"] = self.validated_at
        checkpoint["seconds"] = self.seconds_before + time.monotonic() - self._started

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Replace places and arguments by those of this run.

        Raises:
            InputError: The checkpoint is of other tokens, or the text of this run has changed.
        """
        own = Path(str(trainer.ckpt_path)).parent.resolve() in own_folders(trainer)
        is_of_other_text = _is_of_other_text(trainer, checkpoint.get("corpus"), own=own)
        callbacks = callbacks_of(trainer)
        states = checkpoint.get("callbacks", {})
        self._ended_at = checkpoint.get("ended_at") if own else None
        self.seconds_before = checkpoint.get("seconds", 0.0) if own else 0.0
        self.validated_at = checkpoint.get("validated_at", 0)
        for each in trainer.checkpoint_callbacks:
            if isinstance(each, ModelCheckpoint) and each.state_key in states:
                folder = Path(str(each.dirpath))
                states[each.state_key] = moved(states[each.state_key], folder, own=own, mode=each.mode)
        for callback in callbacks:
            if isinstance(callback, EarlyStopping) and callback.state_key in states:
                if is_of_other_text:
                    del states[callback.state_key]
                else:
                    states[callback.state_key] |= {"patience": callback.patience}
        for state in checkpoint.get("lr_schedulers", []) if is_of_other_text else []:
            for name in ("best", "num_bad_epochs"):
                state.pop(name, None)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restore `max_steps`, the end of an ended run, and the random states of this process."""
        trainer.fit_loop.epoch_loop.max_steps = self._max_steps
        self.first_step = trainer.global_step
        if self._ended_at == [trainer.max_epochs, trainer.max_steps]:
            trainer.should_stop = True
        for config in trainer.lr_scheduler_configs:
            if config.reduce_on_plateau:
                config.interval = "validation"  # no interval of Lightning's: see `on_validation_end`
        states = (self._restored or {}).get("processes", [self._restored])
        if self._restored is None or trainer.global_rank >= len(states):
            return
        self._restored, state = None, states[trainer.global_rank]
        torch.set_rng_state(state["torch"].cpu())
        version, numbers, gauss = state["python"]
        random.setstate((version, tuple(numbers), gauss))
        name, keys, place, has_gauss, cached = state["numpy"]
        np.random.set_state((name, keys.cpu().numpy().astype(np.uint32), place, has_gauss, cached))
        if "cuda" in state and torch.cuda.is_available():
            torch.cuda.set_rng_state(state["cuda"].cpu())

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Ask early stopping again after an epoch of the minimum: Lightning 2.6 ends after these what has recovered."""
        callbacks = callbacks_of(trainer)
        has_stopped = any(isinstance(each, EarlyStopping) and each.stopped_epoch for each in callbacks)
        if has_stopped and trainer.current_epoch < (trainer.min_epochs or 0):
            trainer.should_stop = False

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Note the step, and update the schedules that wait for validations."""
        if trainer.state.fn != "fit" or trainer.sanity_checking:
            return
        self.validated_at = trainer.global_step
        for config in trainer.lr_scheduler_configs:
            value = trainer.callback_metrics.get(config.monitor or "")
            if config.reduce_on_plateau and value is not None:
                pl_module.lr_scheduler_step(config.scheduler, value)


def _is_of_other_text(trainer: pl.Trainer, began: dict[str, list[int]] | None, *, own: bool) -> bool:
    """Return whether the text is not that of the checksums of a checkpoint; an older one has fewer of them, or none.

    Raises:
        InputError: The vocabularies differ; or the text, if the checkpoint is the run's `own`.
    """
    data = prepared_of(trainer)
    if data is None or began is None:
        return False
    now = data.checksums
    if began["tokens"] != now["tokens"]:
        raise InputError(
            f"{trainer.ckpt_path} is of other vocabularies, fitted on other text: init_from=FOLDER starts with the tokenizers "
            "of a model"
        )
    differs = began["text"] != now["text"][: len(began["text"])]
    if own and differs:
        sizes = " and ".join(f"{number:,}" for number in began["text"][:2])
        raise InputError(
            f"the text has changed since this run began, with {sizes} pairs for training and validation: restore it; or "
            "init_from=FOLDER with another name=… trains its model on this text"
        )
    return differs


def kept_in_words(trainer: pl.Trainer, kept: Mapping[str, Any] | None) -> str:
    """Return of which step the checkpoint is that is kept (None: the weights of the last step), and for which score."""
    judge, last = judge_of(trainer), trainer.global_step
    step = last if kept is None else kept["global_step"]
    if judge is None:
        wanted = filter(None, (getattr(each, "monitor", None) for each in trainer.checkpoint_callbacks))
        return f"step {step:,} of {last:,}" + "".join(f"; none was compared by {each}" for each in wanted)
    best, better = judge.best_model_score, "lowest" if judge.mode == "min" else "highest"
    is_equal = step < last and trainer.callback_metrics.get(judge.monitor) == best
    equal = ", as of the last validation" if is_equal else ""
    return f"step {step:,} of {last:,}, with the {better} {judge.monitor}, {float(best):.4g}{equal}"


def end_in_words(trainer: pl.Trainer) -> str | None:
    """Return why a training ended before the length that it was to have; None: it did not."""
    step, total, optimizer = trainer.global_step, lengths(trainer)["step"], trainer.optimizers[0]
    if not trainer.should_stop or 0 <= total <= step:
        return None
    reasons = (getattr(each, "stopping_reason_message", None) for each in callbacks_of(trainer))
    why = f"by early stopping: {next(filter(None, reasons), 'a callback asked for it')}"
    if out_of_time(trainer):
        rate, given = optimizer.param_groups[0]["lr"], optimizer.defaults.get("lr", math.nan)
        why = f"by trainer.max_time, at a learning rate of {rate:.3g} ({given:.3g} is given); a longer time goes on"
    of_total = f" of {total:,}" if total > 0 else ""
    return f"at step {step:,}{of_total}, {why.removesuffix(' Signaling Trainer to stop.')}"


def out_of_time(trainer: pl.Trainer) -> bool:
    """Return whether a training has used the time of `lightning.Trainer(max_time=…)`."""
    left = [each.time_remaining() for each in callbacks_of(trainer) if isinstance(each, Timer)]
    return any(seconds is not None and seconds <= 0 for seconds in left)


def own_folders(trainer: pl.Trainer) -> set[Path]:
    """Return the folders that the checkpoints of a run are in, which may be behind links or outside of the run's."""
    found = {Path(trainer.default_root_dir, "checkpoints").resolve()}
    for each in trainer.checkpoint_callbacks:
        if isinstance(each, PeriodicCheckpoint):
            found.add(each.path.parent.resolve())
        elif isinstance(each, ModelCheckpoint):
            found.add(Path(str(each.dirpath)).resolve())
    return found


def moved(state: dict[str, Any], folder: Path, *, own: bool, mode: str) -> dict[str, Any]:
    """Return the state of a `ModelCheckpoint` with the places that its files have now.

    The folder is where its files are now. Those of another run, not `own`, are not of this one. If the best is missing, it
    is the best of the others: ``min`` or ``max`` by the `mode`.
    """

    def here(path: str) -> str:
        old = Path(state["dirpath"] or ".")
        new = folder / Path(path).relative_to(old) if path and Path(path).is_relative_to(old) else None
        found = own and new is not None and ".." not in new.parts and new.is_file()
        return str(new) if found else ""

    kept = {here(path): score for path, score in state["best_k_models"].items() if here(path)}
    best = here(state["best_model_path"])
    if own and state["best_model_path"] and not best:
        name = Path(state["best_model_path"]).name
        best = (min if mode == "min" else max)(kept, key=lambda path: float(kept[path]), default="")
        others = "the best of the others" if best else "the best from now on"
        warn(f"{folder / name} is missing: {others} is kept")
    state = state | {
        "dirpath": str(folder),
        "best_k_models": kept,
        "best_model_path": best,
        "best_model_score": kept.get(best, state["best_model_score"]) if best else None,
        "kth_best_model_path": here(state["kth_best_model_path"]),
        "last_model_path": here(state["last_model_path"]),
    }
    if not state["kth_best_model_path"]:
        state.pop("kth_value", None)
    return state


class StopOnSignal(BorderCallback):
    """Finish the step, save ``last.ckpt`` and end training after SIGTERM, Ctrl-C or SIGHUP, which a closed terminal sends.

    A signal during a validation takes effect after it. A second signal ends the program at once. In several processes
    all stop if one received the signal.

    Raises:
        TrainingInterrupted: After the checkpoint was saved.
    """

    HANGUP = getattr(signal, "SIGHUP", signal.SIGTERM)  # which Windows does not have

    def __init__(self) -> None:
        self._received: int | None = None
        self._before: dict[int, Any] = {}
        self._saver: PeriodicCheckpoint | None = None

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Forget the training before."""
        self._received, self._saver, self._before = None, None, {}

    def on_sanity_check_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Install the handler of SIGTERM; that of Lightning waits for the other processes, which may not come."""
        self._install(signal.SIGTERM, self.HANGUP)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Install the signal handlers; those of Lightning would exit without a checkpoint."""
        self._install(signal.SIGTERM, signal.SIGINT, self.HANGUP)
        if self._is_received(trainer) or trainer.received_sigterm:  # or Lightning has noted it before
            raise interrupted(self._received or signal.SIGTERM)

    def _install(self, *numbers: int) -> None:
        if threading.current_thread() is threading.main_thread():
            ignored = {self.HANGUP} if signal.getsignal(self.HANGUP) is signal.SIG_IGN else set()  # by nohup
            new = {*numbers} - {*self._before} - ignored
            self._before |= {number: signal.signal(number, self._receive) for number in new}

    def _is_received(self, trainer: pl.Trainer) -> bool:
        """Return whether one of the processes received a signal."""
        return trainer.strategy.reduce_boolean_decision(self._received is not None, all=False)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self._received = number
        for stream in (1, 2):  # a terminal that is gone would refuse what is printed before the end
            with suppress(OSError):
                if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        with suppress(OSError):  # not by sys.stderr, which may be in the middle of writing
            os.write(2, b"\nstopping after this step; once more to stop at once\n")

    def at_border(self, trainer: pl.Trainer, *, epoch_ends: bool = False) -> None:
        """Save."""
        if self._is_received(trainer):
            periodic = (each for each in trainer.checkpoint_callbacks if isinstance(each, PeriodicCheckpoint))
            own = PeriodicCheckpoint(Path(trainer.default_root_dir) / "checkpoints")
            self._saver = next(periodic, own)
            self._saver.save(trainer)

    def after_border(self, trainer: pl.Trainer) -> None:
        """Stop."""
        if self._saver is not None:
            self._saver.after_border(trainer)
            raise interrupted(self._received or signal.SIGTERM, f"saved {self._saver.path}; ")

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restore the signal handlers of Lightning, which then restores those that it found; stop."""
        self._restore()
        self.after_border(trainer)
        if self._is_received(trainer):
            raise interrupted(self._received or signal.SIGTERM)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Restore the signal handlers."""
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


def interrupted(number: int, done: str = "") -> TrainingInterrupted:
    """Return the exception for a signal, with what was done after it."""
    return TrainingInterrupted(
        number, f"stopped by {signal.Signals(number).name}, {done}the same command continues"
    )


def leave_process_group() -> None:
    """Leave the other processes of a training, and wait for the threads that have exchanged tensors with them.

    A thread of gloo that lets go of its last tensor after the end of Python would abort the process. Lightning leaves
    groups of NCCL only.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def fit(trainer: pl.Trainer, *arguments: Any, **options: Any) -> None:
    """Call `trainer.fit`; a signal before the first or after the last step ends it as one between them does.

    Raises:
        TrainingInterrupted: SIGTERM, SIGHUP or Ctrl-C was received.
    """
    atexit.register(leave_process_group)
    try:
        trainer.fit(*arguments, **options)
    except SystemExit as end:  # Lightning's
        if not trainer.is_global_zero:  # Lightning then ends the first process, which may wait for this one
            raise
        if isinstance(end, SIGTERMException):
            raise interrupted(signal.SIGTERM) from None
        if isinstance(end.__context__, KeyboardInterrupt):
            raise interrupted(signal.SIGINT) from None
        raise
    if trainer.received_sigterm:
        raise interrupted(signal.SIGTERM)


def judge_of(trainer: pl.Trainer) -> Any:
    """Return the first callback that has kept a checkpoint for its score; None if none has."""
    judges = (each for each in trainer.checkpoint_callbacks if getattr(each, "monitor", None))
    return next((each for each in judges if Path(getattr(each, "best_model_path", "")).is_file()), None)


def checkpoint_to_keep(trainer: pl.Trainer, *last: Path) -> dict[str, Any] | None:
    """Return the checkpoint of the model to keep: ``best.ckpt``, of the first callback that compares scores.

    Without one, that of the last step. None says that the weights of the module are to be kept: without checkpoints, or
    if a callback has changed them after the last one.

    Args:
        trainer: After `fit`.
        last: Where the checkpoint of the last step may be.
    """
    found_last = (read_checkpoint(path) for path in last if path.is_file())
    of_last_step = next((each for each in found_last if each["global_step"] == trainer.global_step), None)
    is_changed = of_last_step is not None and _is_changed(trainer, of_last_step["state_dict"])
    if (judge := judge_of(trainer)) is None:
        return None if is_changed else of_last_step
    found = Path(judge.best_model_path)
    best = found.with_name("best.ckpt")
    is_there = best.is_file() and best.samefile(found)
    if not is_there and trainer.is_global_zero:  # one of several, with a name of its own
        partial = best.with_name("best.ckpt.partial")
        claim(best, partial)
        partial.unlink(missing_ok=True)
        try:
            os.link(found, partial)
        except OSError:  # a file system without links
            shutil.copyfile(found, partial)
        os.replace(partial, best)
    if is_changed and trainer.is_global_zero:
        warn(
            "a callback has changed the weights at the end of the training, after the last validation, and best.ckpt, "
            "which is exported, does not have them: callbacks.checkpoint.monitor=null exports them"
        )
    return read_checkpoint(best)


def _is_changed(trainer: pl.Trainer, saved: dict[str, torch.Tensor]) -> bool:
    """Return whether the weights, after steps of this process, are not those that were saved after the last step."""
    callbacks = callbacks_of(trainer)
    first = next((each.first_step for each in callbacks if isinstance(each, ResumeState)), None)
    if first is None or first == trainer.global_step:
        return False
    weights = trainer.lightning_module.state_dict()
    return any(
        not torch.equal(weights[name].cpu(), value.cpu()) for name, value in saved.items() if name in weights
    )


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
        """Give the module the mean."""
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
