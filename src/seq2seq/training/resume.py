"""What a run adds to `lightning_exact_resume`: the list of its files, the checksums of its text, its own exceptions."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightning.pytorch as pl

from lightning_exact_resume import CheckpointError, Interrupted, OtherTraining, RateError
from lightning_exact_resume import DurableCheckpointIO as ExactCheckpointIO
from lightning_exact_resume import ResumeState as ExactState
from seq2seq.common.errors import InputError, TrainingFailed, TrainingInterrupted
from seq2seq.common.progress import heard
from seq2seq.common.written import claim, is_own
from seq2seq.data.datamodule import prepared_of

START_AGAIN = "remove it to start again"


heard("lightning_exact_resume")


@contextmanager
def in_own_words(advice: str = "the same command continues") -> Iterator[None]:
    """Raise TrainingFailed or TrainingInterrupted, with advice, for exceptions of `lightning_exact_resume` and Ctrl-C."""
    try:
        yield
    except CheckpointError as error:
        raise TrainingFailed(f"{error}: {advice}") from error
    except Interrupted as error:
        raise TrainingInterrupted(error.signal_number, f"{error}; {advice}") from error
    except KeyboardInterrupt as error:
        raise TrainingInterrupted(signal.SIGINT, f"stopped by Ctrl-C; {advice}") from error


@contextmanager
def refusing_wrong_parts() -> Iterator[None]:
    """Raise InputError for an optimizer or schedule that refuses its arguments, or that a checkpoint is not of."""
    try:
        yield
    except (InputError, TrainingFailed, TrainingInterrupted):
        raise  # in our words already
    except (ValueError, RuntimeError) as error:
        way = ", or start from its model by init_from=FOLDER" if isinstance(error, OtherTraining) else ""
        raise InputError(f"{'' if isinstance(error, RateError) else 'optimizer: '}{error}{way}") from error


class DurableCheckpointIO(ExactCheckpointIO):
    """Checkpoint IO of `lightning_exact_resume` that replaces and removes only what the run has written."""

    def before_write(self, *paths: Path) -> None:
        """List the files; raise CheckpointError if one is there that the run has not written."""
        try:
            claim(*paths)
        except (InputError, OSError) as error:
            raise CheckpointError(str(error)) from error

    def may_remove(self, path: Path) -> bool:
        """Return whether the run, or this object, has saved a checkpoint."""
        return path in self.saved or is_own(path)


class ResumeState(ExactState):
    """State of `lightning_exact_resume`, with checksums: a run that continues has the vocabularies and the text with which it began."""

    def on_save_checkpoint(self, trainer: pl.Trainer, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Save the checksums, too."""
        super().on_save_checkpoint(trainer, pl_module, checkpoint)
        data = prepared_of(trainer)
        checkpoint["corpus"] = None if data is None else data.checksums

    def is_of_other_data(self, trainer: pl.Trainer, checkpoint: dict[str, Any], *, own: bool) -> bool:
        """Return whether the text is not that of the checksums; an older checkpoint has fewer of them, or none.

        Raises:
            InputError: The vocabularies differ; or the text, if the checkpoint is the run's `own`.
        """
        data, began = prepared_of(trainer), checkpoint.get("corpus")
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
