"""What ends a program other than success and defects: wrong input, and a signal."""

from pathlib import Path


class InputError(Exception):
    """Wrong input: a file, a config value or an option.

    The message is one line: what is wrong, where, and the remedy. Programs print it without a
    traceback and exit with status 2.
    """


class TrainingInterrupted(Exception):  # noqa: N818 - an event, not an error
    """Training was stopped by a signal, with a checkpoint written.

    Attributes:
        signal_number: the signal; programs exit with 128 plus it.
        checkpoint: where training can continue.
    """

    def __init__(self, signal_number: int, checkpoint: Path) -> None:
        super().__init__(f"stopped by signal {signal_number}, progress kept in {checkpoint}")
        self.signal_number = signal_number
        self.checkpoint = checkpoint


class SweepEnded(Exception):  # noqa: N818 - an event, not an error
    """A sweep has said all it has to say.

    Attributes:
        status: the exit status of the program.
    """

    def __init__(self, status: int) -> None:
        super().__init__(f"the sweep ended with status {status}")
        self.status = status
