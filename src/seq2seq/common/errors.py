"""Exceptions that end a program with one line in place of a traceback."""

from hydra_checked import Failed, Wrong


class InputError(Wrong):
    """Wrong input: a file, a configuration value or an option.

    The message is one line that says what is wrong, where, and what to do. Programs print it
    without a traceback and exit with status 2.
    """


class NotFinite(InputError):
    """A model computes NaN or infinity, or holds it."""


class TrainingFailed(Failed):
    """Training cannot go on: NaN losses, a full disk, unreadable checkpoints.

    The message is one line that says what happened and what to do. Programs print it without a
    traceback and exit with status 1.
    """


class TrainingInterrupted(Failed):
    """A signal stopped training after a checkpoint was saved.

    Attributes:
        signal_number: Programs exit with 128 plus this number.
    """

    def __init__(self, signal_number: int, message: str) -> None:
        super().__init__(message)
        self.signal_number, self.status = signal_number, 128 + signal_number
