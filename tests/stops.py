"""Stops a training in the middle."""

import signal
from contextlib import contextmanager
from unittest import mock

from seq2seq.training.module import TranslationModule


@contextmanager
def stopped_after(num_steps, stop):
    """Calls `stop` in the step that follows so many."""
    training_step = TranslationModule.training_step

    def stopping(self, batch, batch_index):
        if self.global_step == num_steps:
            stop()
        return training_step(self, batch, batch_index)

    with mock.patch.object(TranslationModule, "training_step", stopping):
        yield


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def crash():
    raise RuntimeError("the power went out")
