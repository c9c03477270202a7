"""Callback of exact continuation: a run that continues equals an uninterrupted one."""

import random
import time
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint, Timer

from lightning_exact_resume.checkpoint import LOG, callbacks_of


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
    - Scores of other data are forgotten by early stopping and by the schedules that wait for validations, see
      `is_of_other_data`.
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

    def on_save_checkpoint(self, trainer: pl.Trainer, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Save the limits at which training has ended early (None: it goes on), and the states of all processes."""
        if trainer.world_size > 1:
            states: list[Any] = [None] * trainer.world_size
            torch.distributed.all_gather_object(states, self.state_dict())
            checkpoint["callbacks"][self.state_key] = {"processes": states}
        ended = trainer.should_stop and not out_of_time(trainer)  # of its time, Lightning keeps the count
        checkpoint["ended_at"] = [trainer.max_epochs, trainer.max_steps] if ended else None
        checkpoint["validated_at"] = self.validated_at
        checkpoint["seconds"] = self.seconds_before + time.monotonic() - self._started

    def is_of_other_data(self, trainer: pl.Trainer, checkpoint: dict[str, Any], *, own: bool) -> bool:
        """Return whether a checkpoint, the run's `own` or one of another run, has scores of other data.

        It has not; a subclass may compare what its `on_save_checkpoint` has saved, and refuse the checkpoint.
        """
        return False

    def on_load_checkpoint(self, trainer: pl.Trainer, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Replace places and arguments by those of this run."""
        own = Path(str(trainer.ckpt_path)).parent.resolve() in own_folders(trainer)
        is_of_other_data = self.is_of_other_data(trainer, checkpoint, own=own)
        states = checkpoint.get("callbacks", {})
        self._ended_at = checkpoint.get("ended_at") if own else None
        self.seconds_before = checkpoint.get("seconds", 0.0) if own else 0.0
        self.validated_at = checkpoint.get("validated_at", 0)
        for each in (each for each in callbacks_of(trainer) if each.state_key in states):
            if isinstance(each, ModelCheckpoint):
                folder = Path(str(each.dirpath))
                states[each.state_key] = moved(states[each.state_key], folder, own=own, mode=each.mode)
            elif isinstance(each, EarlyStopping) and is_of_other_data:
                del states[each.state_key]
            elif isinstance(each, EarlyStopping):
                states[each.state_key] |= {"patience": each.patience}
        for state in checkpoint.get("lr_schedulers", []) if is_of_other_data else []:
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


def out_of_time(trainer: pl.Trainer) -> bool:
    """Return whether a training has used the time of `lightning.Trainer(max_time=…)`."""
    left = [each.time_remaining() for each in callbacks_of(trainer) if isinstance(each, Timer)]
    return any(seconds is not None and seconds <= 0 for seconds in left)


def own_folders(trainer: pl.Trainer) -> set[Path]:
    """Return the folders that the checkpoints of a run are in, which may be behind links or outside of the run's."""
    folders = [getattr(each, "dirpath", None) for each in trainer.checkpoint_callbacks]
    usual = Path(trainer.default_root_dir, "checkpoints")
    return {Path(each).resolve() for each in (usual, *folders) if each}


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
        LOG.warning("%s is missing: %s is kept", folder / name, others)
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
