"""When ``last.ckpt`` is written, and how checkpoints are written and read, safe against a kill and a full disk."""

import logging
import os
import zipfile
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback, Checkpoint, StochasticWeightAveraging
from lightning.pytorch.plugins.io import TorchCheckpointIO

LOG = logging.getLogger("lightning_exact_resume")


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written or read, such as on a full disk; the message is one line."""


def is_dry(trainer: pl.Trainer) -> bool:
    """Return whether a trainer runs some batches and writes nothing."""
    return bool(trainer.fast_dev_run)  # type: ignore[attr-defined]  # which a connector sets


def callbacks_of(trainer: pl.Trainer) -> list[Callback]:
    """Return the callbacks of a trainer."""
    found: list[Callback] = trainer.callbacks  # type: ignore[attr-defined]  # which a connector sets
    return found


class BorderCallback(Checkpoint):
    """Base class of callbacks that save or stop where a run can go on with the same result.

    These places are the ends of optimizer steps; where a validation follows, the end of that validation; after the last
    batch of an epoch, the end of the epoch. Lightning writes the values of a step to the loggers after them, before the
    next hook. Such callbacks are last, as `fit` puts them: a checkpoint holds the states of the others.

    The epochs of `StochasticWeightAveraging` are none but for their ends: Lightning begins its schedule with an epoch.

    A training that early stopping or `max_time` ends within an epoch ends at such a place, so that a longer one trains
    the rest of the epoch.
    """

    _stops_later = False

    def at_border(self, trainer: pl.Trainer, *, epoch_ends: bool = False) -> None:
        """Act where a run can go on. Subclasses implement this method."""
        raise NotImplementedError

    def after_border(self, trainer: pl.Trainer) -> None:
        """Act when the values of the step are written. Subclasses may implement this method."""

    def on_train_batch_start(self, trainer: pl.Trainer, *_: Any, **__: Any) -> None:
        """Call `after_border`, as at the start of an epoch and at the end of training."""
        self.after_border(trainer)

    on_train_epoch_start = on_train_end = on_train_batch_start

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Call `at_border` unless a validation or the end of the epoch follows."""
        self._stop_at_border(trainer)
        if not validation_follows(trainer):
            self._within_epoch(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Call `at_border` after a validation within an epoch."""
        if trainer.state.fn == "fit" and not trainer.sanity_checking:
            self._stop_at_border(trainer)
            self._within_epoch(trainer)

    def _stop_at_border(self, trainer: pl.Trainer) -> None:
        """Put off a stop between the batches of a step to the end of the step."""
        if not ends_step(trainer) and trainer.should_stop:
            trainer.should_stop, self._stops_later = False, True
        elif ends_step(trainer) and self._stops_later:
            trainer.should_stop, self._stops_later = True, False

    def _within_epoch(self, trainer: pl.Trainer) -> None:
        is_end = trainer.global_step == trainer.max_steps or stops(trainer)
        is_border = ends_step(trainer) and not trainer.is_last_batch and not is_dry(trainer)
        if is_border and (is_end or not _averages(trainer)):
            self.at_border(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Call `at_border`."""
        if not is_dry(trainer):
            self.at_border(trainer, epoch_ends=True)


def _averages(trainer: pl.Trainer) -> bool:
    """Return whether the current epoch is one of `StochasticWeightAveraging`."""
    found = (each for each in callbacks_of(trainer) if isinstance(each, StochasticWeightAveraging))
    return any(trainer.current_epoch >= each.swa_start for each in found)


def ends_step(trainer: pl.Trainer) -> bool:
    """Return whether the current batch is the last one of an optimizer step."""
    return trainer.is_last_batch or (trainer.fit_loop.batch_idx + 1) % trainer.accumulate_grad_batches == 0


def stops(trainer: pl.Trainer) -> bool:
    """Return whether the training ends after this step because somebody asked for it."""
    epochs, steps = trainer.min_epochs or 0, trainer.min_steps or 0
    return trainer.should_stop and trainer.current_epoch >= epochs and trainer.global_step >= steps


def validation_follows(trainer: pl.Trainer) -> bool:
    """Return whether Lightning validates after the current batch."""
    every, interval = trainer.check_val_every_n_epoch, trainer.val_check_batch
    if not trainer.enable_validation or (every is not None and (trainer.current_epoch + 1) % every):
        return False
    if stops(trainer):
        return True
    place = trainer.fit_loop.total_batch_idx if every is None else trainer.fit_loop.batch_idx
    return interval is not None and (place + 1) % interval == 0


class PeriodicCheckpoint(BorderCallback):
    """Save ``last.ckpt`` at the end of every epoch and every some steps, whatever the scores.

    Args:
        dirpath: Folder of the file.
        every_n_train_steps: Number of optimizer steps between two checkpoints within an epoch.
    """

    def __init__(self, dirpath: str | Path, every_n_train_steps: int = 500) -> None:
        self.dirpath, self.path = Path(dirpath), Path(dirpath) / "last.ckpt"
        self.every_n_train_steps = every_n_train_steps
        self._saved_at, self._is_pending = 0, False

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Count from the step of the checkpoint that is resumed."""
        self._saved_at, self._is_pending = trainer.global_step, False

    def at_border(self, trainer: pl.Trainer, *, epoch_ends: bool = False) -> None:
        """Save if it is time, at the end of an epoch, and at the last step of the run."""
        step, interval = trainer.global_step, max(self.every_n_train_steps, 1)
        is_last = step == trainer.max_steps or stops(trainer)
        if epoch_ends or is_last or step // interval > self._saved_at // interval:
            self.save(trainer)

    def save(self, trainer: pl.Trainer) -> None:
        """Write ``last.next.ckpt``, once a step, which `after_border` makes ``last.ckpt``."""
        if trainer.global_step > self._saved_at:
            trainer.save_checkpoint(self.path.with_name("last.next.ckpt"), weights_only=False)
            self._saved_at, self._is_pending = trainer.global_step, True

    def after_border(self, trainer: pl.Trainer) -> None:
        """Put the checkpoint in the place of the last one."""
        if self._is_pending and trainer.is_global_zero:
            for logger in trainer.loggers:  # what was logged before a checkpoint is not logged again after it
                logger.save()
            replace_last(self.path.with_name("last.next.ckpt"), self.path)
        self._is_pending = False


class DurableCheckpointIO(TorchCheckpointIO):
    """Checkpoint IO of Lightning that writes a temporary file, flushes it to the disk, and then renames it.

    The previous ``last.ckpt`` is kept as ``last.prev.ckpt``, which is read if ``last.ckpt`` is damaged.
    """

    def __init__(self) -> None:
        self.saved: set[Path] = set()

    def before_write(self, *paths: Path) -> None:
        """Do nothing before a checkpoint is written; a subclass may refuse it by `CheckpointError`."""

    def may_remove(self, path: Path) -> bool:
        """Return whether a checkpoint may be removed: one in a folder where this object has saved another.

        Lightning reads from the checkpoint which paths to remove; a damaged or foreign one may name any.
        """
        return path.parent in {each.parent for each in self.saved}

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None
    ) -> None:
        """Write a checkpoint.

        Raises:
            CheckpointError: The disk is full or not writable; nothing is changed.
        """
        path = Path(path)
        partial = path.with_name(f"{path.name}.partial")
        self.before_write(path, partial)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                torch.save(checkpoint, file)
                file.flush()
                os.fsync(file.fileno())
            if path.name == "last.ckpt":
                replace_last(partial, path)
            else:
                os.replace(partial, path)
            self.saved.add(path)
        except (OSError, RuntimeError) as error:
            partial.unlink(missing_ok=True)
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())[:200]
            raise CheckpointError(
                f"{path} cannot be written ({reason}): earlier checkpoints are kept"
            ) from error

    def remove_checkpoint(self, path: str | Path) -> None:
        """Remove a checkpoint if it `may_remove` it."""
        path = Path(path)
        if path.suffix == ".ckpt" and path.is_file() and self.may_remove(path):
            path.unlink()

    def load_checkpoint(
        self,
        path: str | Path,
        map_location: Any = lambda storage, _: storage,
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        """Read a checkpoint without running code; if it is damaged, read the previous one.

        Raises:
            CheckpointError: Neither can be read.
        """
        return read_checkpoint(path, map_location)


def read_checkpoint(path: str | Path, map_location: Any = "cpu") -> dict[str, Any]:
    """Read a checkpoint without running code; if it is damaged, read the previous one.

    Raises:
        CheckpointError: Neither can be read.
    """
    path, reasons = Path(path), []
    for candidate in (path, previous(path)):
        if not candidate.is_file():
            continue
        try:
            with zipfile.ZipFile(candidate) as archive:
                if broken := archive.testzip():  # torch does not compare the checksums
                    raise ValueError(f"the checksum of {broken} is wrong")
            checkpoint = torch.load(candidate, map_location=map_location, weights_only=True)
            if not isinstance(checkpoint, dict) or "state_dict" not in checkpoint:
                raise ValueError("it holds no training state")
            return checkpoint
        except Exception as error:  # a damaged file can raise anything
            reasons.append(f"{candidate} is damaged ({' '.join(str(error).split())[:120]})")
            if candidate == path and previous(path).exists():
                LOG.warning("%s: %s is used", reasons[-1], previous(path).name)
    raise CheckpointError("; ".join(reasons) or f"{path} is missing")


def replace_last(new: Path, path: Path) -> None:
    """Put a file in the place of ``last.ckpt``, which is kept as ``last.prev.ckpt``; there is one at any moment."""
    if path.exists():
        previous(path).unlink(missing_ok=True)
        try:
            os.link(path, previous(path))
        except OSError:  # a file system without links
            os.replace(path, previous(path))
    os.replace(new, path)


def previous(path: Path) -> Path:
    """Return the path of the previous checkpoint, such as ``last.prev.ckpt`` for ``last.ckpt``."""
    return path.with_name(f"{path.stem}.prev{path.suffix}")
