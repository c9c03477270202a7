"""Learning-rate schedules, and the exponential moving average of the weights."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback, GradientAccumulationScheduler
from lightning.pytorch.utilities import rank_zero_only
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau
from torch.optim.swa_utils import get_ema_multi_avg_fn

from seq2seq.common.counted import counted
from seq2seq.common.numbers import NotNegative, Share
from seq2seq.common.progress import warn
from seq2seq.errors import InputError
from seq2seq.training.checkpoint import callbacks_of


def warmup_cosine(
    optimizer: Optimizer, total_steps: int, warmup_steps: NotNegative = 100, min_lr_ratio: Share = 0.01
) -> LambdaLR:
    """Return a schedule with linear warmup, then cosine decay to a fraction of the maximum rate.

    With w = max(`warmup_steps`, 1), T = `total_steps` and r = `min_lr_ratio`, the share of the maximum rate at step n,
    counted from 1, is

        n / w                                                 for n <= w
        r + (1 - r) (1 + cos(pi (n - w) / (T - w))) / 2       for w < n <= T

    and r afterwards. Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, one period.

    Args:
        optimizer: Its `lr` is the maximum rate.
        total_steps: Number of optimizer steps of the training.
        warmup_steps: Number of steps of linear warmup.
        min_lr_ratio: Rate at the last step, as a share of the maximum.
    """
    warmup = max(warmup_steps, 1)
    if total_steps < warmup:
        rank_zero_only(warn)(
            f"scheduler.warmup_steps={warmup_steps}, but the training has {counted(total_steps, 'step')}: the learning "
            "rate does not reach optimizer.lr"
        )

    def share(step: int) -> float:
        number = step + 1
        if number <= warmup:
            return number / warmup
        progress = min((number - warmup) / max(total_steps - warmup, 1), 1.0)
        return min_lr_ratio + (1 - min_lr_ratio) * 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, share)


def warmup_constant(optimizer: Optimizer, warmup_steps: NotNegative = 0) -> LambdaLR:
    """Return a schedule with linear warmup to a constant rate.

    The share of the maximum rate at step n, counted from 1, is min(n / max(`warmup_steps`, 1), 1).

    Args:
        optimizer: Its `lr` is the maximum rate.
        warmup_steps: Number of steps of linear warmup.
    """
    return LambdaLR(optimizer, lambda step: min((step + 1) / max(warmup_steps, 1), 1.0))


def warmup_ema(decay: Share = 0.999) -> Callable[[Any, Any, Any], None]:
    """Return the update rule of an exponential moving average with a smaller decay at the start.

        average = d average + (1 - d) weights,  d = min(decay, (1 + n) / (10 + n)) after n earlier updates

    The first update, n = 0, copies the weights.

    Args:
        decay: Maximum share of the average that is kept at each step.

    Returns:
        A `multi_avg_fn` of `torch.optim.swa_utils.AveragedModel`.
    """

    def update(averages: Any, weights: Any, num_averaged: Any) -> None:
        number = int(num_averaged)
        get_ema_multi_avg_fn(min(decay, (1 + number) / (10 + number)))(averages, weights, num_averaged)

    return update


class Schedule(Callback):
    """The learning-rate schedule of a training, also of one that continues.

    Args:
        factory: Returns the schedule of an optimizer; called with `total_steps`, the number of optimizer steps, if it has
            an argument of this name. None: a constant rate.
    """

    def __init__(self, factory: Callable[..., Any] | None) -> None:
        self._factory = factory
        self._total_steps: int | None = None  # when the training started or was continued
        self._loaded: dict[str, Any] | None = (
            None  # the checkpoint to continue, whose states Lightning reads later
        )

    def configuration(self, optimizer: Optimizer, trainer: pl.Trainer) -> dict[str, Any]:
        """Return the schedule in Lightning's form: updated after each step, or after validations (plateau).

        Raises:
            InputError: A plateau schedule lowers the rate while the loss falls, or a training without a length has a
                schedule that needs one.
        """
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            _use_arguments(optimizer.defaults, loaded)
        if self._factory is None:
            return {}
        before, self._total_steps = self._total_steps, None
        given = getattr(self._factory, "keywords", {})
        if "total_steps" in inspect.signature(self._factory).parameters and "total_steps" not in given:
            self._total_steps = total_steps(trainer)
            if self._total_steps < 0:
                raise InputError(
                    "scheduler: its rate depends on the length of the training: give trainer.max_epochs or trainer.max_steps, "
                    "or scheduler=constant"
                )
        if before is not None and self._total_steps not in (None, before) and trainer.is_global_zero:
            warn(
                f"the schedule of the learning rate was of {counted(before, 'step')} and is now of {self._total_steps:,}: the "
                "rate continues as in a training of this length"
            )
        options = {} if self._total_steps is None else {"total_steps": self._total_steps}
        schedule: Any = self._factory(optimizer, **options)
        states = (loaded or {}).get("lr_schedulers", [])
        if any(("cooldown_counter" in state) != isinstance(schedule, ReduceLROnPlateau) for state in states):
            raise InputError(
                "ckpt_path: the rate of that training was of another schedule, and does not go on by this one: choose the same "
                "scheduler=…, or start from its model by init_from=FOLDER"
            )
        if isinstance(schedule, ReduceLROnPlateau):
            if schedule.mode != "min":  # of a function or class that does not show it in the configuration
                raise InputError(
                    "scheduler: it follows val/loss, of which lower values are better: leave out mode=max"
                )
            frequency = trainer.check_val_every_n_epoch or 1
            when = {"interval": "epoch", "frequency": frequency, "monitor": "val/loss"}
        else:
            when = {"interval": "step"}
        return {"lr_scheduler": {"scheduler": schedule} | when}

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Save the number of steps, and the arguments of the optimizer."""
        checkpoint["total_steps"] = self._total_steps
        plain = int, float, bool, tuple
        arguments = [optimizer.defaults for optimizer in trainer.optimizers][:1]
        checkpoint["optimizer_arguments"] = {
            name: value for each in arguments for name, value in each.items() if isinstance(value, plain)
        }

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Restore it, and remove from the schedule's state what its arguments decide, which this run may change."""
        self._total_steps, self._loaded = checkpoint.get("total_steps"), checkpoint
        if self._factory is None:
            return
        arguments = {*inspect.signature(self._factory).parameters} - {"last_epoch"}
        for state in checkpoint.get("lr_schedulers", []):
            for name in arguments | {"_schedule_phases"}:  # OneCycleLR derives them from its arguments
                state.pop(name, None)


def _use_arguments(arguments: Mapping[str, Any], checkpoint: dict[str, Any]) -> None:
    """Put the arguments of an optimizer in the place of those of the training that a checkpoint is of.

    What is derived from the rate is multiplied by the same factor, such as the rates of a schedule.

    Raises:
        InputError: The checkpoint is of another optimizer.
    """
    for group in (each for state in checkpoint["optimizer_states"] for each in state["param_groups"]):
        missing = [
            n
            for n, v in arguments.items()
            if n not in group and isinstance(v, int | float | tuple) and not isinstance(v, bool)
        ]
        if missing:
            raise InputError(
                f"ckpt_path: that training had another optimizer, without {', '.join(missing)}: choose the same optimizer=…, or "
                "start from its model by init_from=FOLDER"
            )
    before = checkpoint.get("optimizer_arguments") or {}
    changed = {n: arguments[n] for n, v in before.items() if n in arguments and arguments[n] != v}
    factor = changed.pop("lr", 1.0) / (before.get("lr") or 1.0) if "lr" in changed else 1.0
    for group in (each for state in checkpoint["optimizer_states"] for each in state["param_groups"]):
        group |= {name: value for name, value in changed.items() if group.get(name) == before[name]}
        for name in ("lr", "initial_lr"):
            if name in group and "max_lr" not in group:  # schedules with rates of their own
                group[name] *= factor
    schedules = [*checkpoint.get("lr_schedulers", [])]
    for state in schedules:  # grows by the parts of a schedule
        schedules += state.get("_schedulers", [])
        state |= {
            name: [rate * factor for rate in state[name]]
            for name in ("base_lrs", "_last_lr")
            if name in state
        }


def total_steps(trainer: pl.Trainer) -> int:
    """Return the number of optimizer steps of the training.

    With a data module, `trainer.estimated_stepping_batches` is not used: it discards the state of the data loader
    when a run is resumed.
    """
    data = getattr(trainer, "datamodule", None)
    if data is None:  # data loaders passed to `Trainer.fit`
        return int(trainer.estimated_stepping_batches)
    batches = len(data.train_dataloader())
    if isinstance(trainer.limit_train_batches, int) and trainer.limit_train_batches > 0:
        batches = min(batches, trainer.limit_train_batches)
    elif isinstance(trainer.limit_train_batches, float):
        batches = max(1, int(batches * trainer.limit_train_batches))
    if trainer.max_epochs == -1:
        return trainer.max_steps
    schedules = [each for each in callbacks_of(trainer) if isinstance(each, GradientAccumulationScheduler)]
    steps = sum(
        math.ceil(batches / schedules[0].get_accumulate_grad_batches(epoch))
        if schedules
        else math.ceil(batches / trainer.accumulate_grad_batches)
        for epoch in range(trainer.max_epochs or 1)
    )
    return steps if trainer.max_steps < 0 else min(steps, trainer.max_steps)
