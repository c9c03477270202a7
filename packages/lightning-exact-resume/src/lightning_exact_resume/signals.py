"""Callback that stops a training at a signal with a checkpoint, and `fit`, which ends as it does."""

import atexit
import os
import signal
import stat
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import LambdaCallback
from lightning.pytorch.utilities.exceptions import SIGTERMException

from lightning_exact_resume.checkpoint import BorderCallback, PeriodicCheckpoint, callbacks_of


class Interrupted(RuntimeError):
    """A signal has stopped a training, after a checkpoint if a step was trained.

    Attributes:
        signal_number: Programs exit with 128 plus this number.
    """

    def __init__(self, signal_number: int, done: str = "") -> None:
        super().__init__(f"stopped by {signal.Signals(signal_number).name}{done}")
        self.signal_number = signal_number


class StopOnSignal(BorderCallback):
    """Finish the step, save ``last.ckpt`` and end training after SIGTERM, Ctrl-C or SIGHUP, which a closed terminal sends.

    A signal during a validation takes effect after it. A second signal ends the program at once. In several processes
    all stop if one received the signal.

    Raises:
        Interrupted: After the checkpoint was saved.
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
            raise Interrupted(self._received or signal.SIGTERM)

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
            raise Interrupted(self._received or signal.SIGTERM, f", saved {self._saver.path}")

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restore the signal handlers of Lightning, which then restores those that it found; stop."""
        self._restore()
        self.after_border(trainer)
        if self._is_received(trainer):
            raise Interrupted(self._received or signal.SIGTERM)

    def on_exception(self, *_: Any) -> None:
        """Restore the signal handlers."""
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


def leave_process_group() -> None:
    """Leave the other processes of a training, and wait for the threads that have exchanged tensors with them.

    A thread of gloo that lets go of its last tensor after the end of Python would abort the process. Lightning leaves
    groups of NCCL only.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def fit(trainer: pl.Trainer, *arguments: Any, **options: Any) -> None:
    """Call `trainer.fit`; a signal before the first or after the last step ends it as one between them does.

    Callbacks of this package become the last ones.

    Raises:
        Interrupted: SIGTERM, SIGHUP or Ctrl-C was received.
    """
    atexit.register(leave_process_group)
    callbacks = callbacks_of(trainer)
    callbacks.sort(key=lambda each: isinstance(each, BorderCallback))  # they save the states of the others
    stops = [each for each in callbacks if isinstance(each, StopOnSignal)]
    # their handlers come before all else
    callbacks[:0] = [LambdaCallback(on_sanity_check_start=each.on_sanity_check_start) for each in stops]
    before = signal.getsignal(signal.SIGINT)
    try:
        trainer.fit(*arguments, **options)
    except SystemExit as end:  # Lightning's
        if not trainer.is_global_zero:  # Lightning then ends the first process, which may wait for this one
            raise
        if isinstance(end, SIGTERMException):
            raise Interrupted(signal.SIGTERM) from None
        if isinstance(end.__context__, KeyboardInterrupt):
            raise Interrupted(signal.SIGINT) from None
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is not before:  # Lightning leaves Ctrl-C ignored after one
            signal.signal(signal.SIGINT, before)
    if trainer.received_sigterm:
        raise Interrupted(signal.SIGTERM)
