"""What ends a program other than success and defects: wrong input, a failure, a signal."""

from collections.abc import Sequence
from pathlib import Path


class InputError(Exception):
    """Wrong input: a file, a config value or an option.

    The message is one line: what is wrong, where, and the remedy. Programs print it without a
    traceback and exit with status 2.
    """


class TrainingFailed(Exception):  # noqa: N818 - what happened, as beside
    """Training cannot go on: numbers that are no numbers, a full disk, damaged checkpoints.

    The message is one line: what happened, where, and the remedy. Programs print it without a
    traceback and exit with status 1.
    """


class JobBroken(TrainingFailed):
    """Another process of the job has ended, which is the one to say why."""

    def __init__(self) -> None:
        super().__init__(
            "another process of this job has ended; the last checkpoint is intact, the same "
            "command continues"
        )


class TrainingInterrupted(Exception):  # noqa: N818 - an event, not an error
    """Training was stopped by a signal, with a checkpoint written.

    Attributes:
        signal_number: the signal; programs exit with 128 plus it.
        checkpoint: where training can continue; None where it had not begun.
    """

    def __init__(self, signal_number: int, checkpoint: Path | None) -> None:
        kept = "before the first step" if checkpoint is None else f"progress kept in {checkpoint}"
        super().__init__(f"stopped by signal {signal_number}, {kept}")
        self.signal_number = signal_number
        self.checkpoint = checkpoint


class SweepEnded(Exception):  # noqa: N818 - an event, not an error
    """A sweep has said all it has to say.

    Attributes:
        status: the exit status of the program.
        folders: of the runs that are finished.
    """

    def __init__(self, status: int, folders: Sequence[Path]) -> None:
        super().__init__(f"the sweep ended with status {status}")
        self.status, self.folders = status, folders
