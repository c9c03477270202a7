"""Learning-rate schedules of trainings that continue, also with other arguments or another length; the length of a training."""

import copy
import inspect
import math
import re
import sys
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from functools import partial
from itertools import accumulate
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback, GradientAccumulationScheduler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau

from lightning_exact_resume.checkpoint import LOG, callbacks_of


class RateError(ValueError):
    """A schedule cannot be followed; the message is one line."""


class OtherTraining(RateError):
    """The checkpoint to continue is of a training with another optimizer or another kind of schedule."""


STEPS = re.compile(r".*steps|step_size_up")
"""Names of arguments that are numbers of optimizer steps; the last one is of PyTorch's `CyclicLR`."""


def arguments_in(factory: Any) -> list[tuple[str, Any]]:
    """Return the arguments of the factory of a schedule and of those of its parts, with the values that are given."""
    given = getattr(factory, "keywords", {})
    parts = [arguments_in(each) for each in given.get("schedulers", ()) if callable(each)]
    return sum(parts, [(name, given.get(name)) for name in inspect.signature(factory).parameters])


def schedule_of(factory: Any, optimizer: Optimizer, length: int | None) -> Any:
    """Return the schedule of an optimizer, with its parts, which get the length of the training as `total_steps`."""
    parts = getattr(factory, "keywords", {}).get("schedulers", ())
    if any(map(callable, parts)):
        built = [schedule_of(each, optimizer, length) for each in parts]
        return factory(optimizer=optimizer, schedulers=built)  # by name: their order differs
    takes_length = ("total_steps", None) in arguments_in(factory)
    return factory(optimizer, **({"total_steps": length} if takes_length else {}))


class Schedule(Callback):
    """The learning-rate schedule of a training, also of one that continues.

    It counts epochs, as those of PyTorch and Lightning do, or optimizer steps if its arguments or those of a part do, such as
    `total_steps` and `warmup_steps`. The keyword ``interval="step"`` or ``"epoch"`` of the factory, which is not passed on,
    decides otherwise. A plateau schedule counts validations.

    Args:
        factory: Returns the schedule of an optimizer; called with `total_steps`, the length of the training in what it
            counts, if it has an argument of this name. A keyword `schedulers` may hold the factories of its parts.
            None: a constant rate.
    """

    def __init__(self, factory: Callable[..., Any] | None) -> None:
        self._factory, self._told = factory, None
        if isinstance(factory, partial) and "interval" not in inspect.signature(factory.func).parameters:
            given = dict(factory.keywords)
            self._told = given.pop("interval", None)
            self._factory = partial(factory.func, *factory.args, **given)
        self._arguments = [] if factory is None else arguments_in(self._factory)
        self._counts_steps = any(STEPS.fullmatch(name) for name, _ in self._arguments)
        self._interval = self._told or ("step" if self._counts_steps else "epoch")
        self._length: int | None = None  # when the training started or was continued
        self._loaded: dict[str, Any] = {}  # the checkpoint to continue, whose states Lightning reads later

    def configuration(self, optimizer: Optimizer, trainer: pl.Trainer) -> dict[str, Any]:
        """Return the schedule in Lightning's form: updated after each step or epoch, or after validations (plateau).

        Raises:
            RateError: A schedule refuses its arguments or the length of the training, or needs one that there is not;
                or a plateau schedule lowers the rate while the loss falls.
            OtherTraining: The training to continue had another optimizer or schedule.
        """
        loaded, self._loaded = self._loaded, {}
        if loaded:
            _use_arguments(optimizer.defaults, loaded)
        if self._factory is None:
            return {}
        before, self._length = self._length, None
        if ("total_steps", None) in self._arguments:
            self._length = lengths(trainer)[self._interval]
            if self._length < 0:
                raise RateError(
                    "scheduler: its rate depends on the length of the training: give trainer.max_epochs or trainer.max_steps, or a constant rate"
                )
        if before is not None and self._length not in (None, before) and trainer.is_global_zero:
            LOG.warning(
                "the schedule of the learning rate was of %s %ss and is now of %s: the rate continues as in a training of this length",
                f"{before:,}", self._interval, f"{self._length:,}",
            )  # fmt: skip
        try:
            schedule = schedule_of(self._factory, optimizer, self._length)
            self._tell(schedule, optimizer, trainer)
        except (ValueError, TypeError) as error:
            raise RateError(f"scheduler: {error}") from error
        is_plateau = isinstance(schedule, ReduceLROnPlateau)
        unit = "validation" if is_plateau else self._interval
        for state in loaded.get("lr_schedulers", []):
            if unit != ("validation" if "cooldown_counter" in state else loaded.get("interval", "step")):
                raise OtherTraining(
                    "ckpt_path: the rate of that training was of another schedule, and does not go on by this one: choose the same scheduler and interval"
                )
        if is_plateau and (self._told or schedule.mode != "min"):  # the mode of a function is seen here
            raise RateError(
                "scheduler: it follows val/loss, of which lower values are better: leave out mode=max and interval"
            )
        frequency = (trainer.check_val_every_n_epoch or 1) if is_plateau else 1
        when = {"interval": self._interval, "frequency": frequency, "monitor": "val/loss"}
        return {"lr_scheduler": {"scheduler": schedule} | when}

    def _tell(self, schedule: Any, optimizer: Optimizer, trainer: pl.Trainer) -> None:
        """Step through the training in advance; say what a schedule counts whose arguments do not, and its rate at the end, if any."""
        if not trainer.is_global_zero or isinstance(schedule, ReduceLROnPlateau):
            return
        future = copy.copy(optimizer)  # with rates of its own, and a copy of the schedule that steps them
        future.param_groups = [{**group} for group in optimizer.param_groups]
        try:
            schedule, first = copy.deepcopy(schedule, {id(optimizer): future}), future.param_groups[0]["lr"]
        except TypeError:  # one of the user's that holds what has no copy
            return
        # Lightning drops the state of loaders without a data module if it is asked for their length
        length = lengths(trainer)[self._interval] if getattr(trainer, "datamodule", None) else -1
        is_soon = 0 <= length <= 100_000  # a second
        with warnings.catch_warnings(action="ignore"):  # PyTorch's, as no step of the optimizer is made
            for _ in range(length if is_soon else 0):
                schedule.step()
        if self._counts_steps and not self._told:
            return
        end = f", {first:.3g} → {future.param_groups[0]['lr']:.3g} after {length:,} {self._interval}s"
        LOG.info(
            "note        scheduler: the rate changes each %s (interval)%s",
            self._interval,
            end if is_soon else "",
        )

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Save the number of steps, and the arguments of the optimizer."""
        checkpoint["total_steps"], checkpoint["interval"] = self._length, self._interval
        plain = int, float, bool, tuple
        arguments = [optimizer.defaults for optimizer in trainer.optimizers][:1]
        checkpoint["optimizer_arguments"] = {
            name: value for each in arguments for name, value in each.items() if isinstance(value, plain)
        }

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Restore it, and remove from the schedule's state what its arguments decide, which this run may change."""
        self._length, self._loaded = checkpoint.get("total_steps"), checkpoint
        derived = {"_schedule_phases", "_milestones"}  # from arguments, by OneCycleLR and SequentialLR
        for name in {*dict(self._arguments)} - {"last_epoch"} | derived:
            for state in states_of(checkpoint):
                state.pop(name, None)


def states_of(checkpoint: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the states of the schedules in a checkpoint, and those of their parts."""
    states = [*checkpoint.get("lr_schedulers", [])]
    for state in states:  # grows
        states += state.get("_schedulers", [])
    return states


def _use_arguments(arguments: Mapping[str, Any], checkpoint: dict[str, Any]) -> None:
    """Put the arguments of an optimizer in the place of those of the training that a checkpoint is of.

    What is derived from the rate is multiplied by the same factor, such as the rates of a schedule.

    Raises:
        OtherTraining: The checkpoint is of another optimizer.
    """
    for group in (each for state in checkpoint["optimizer_states"] for each in state["param_groups"]):
        missing = [
            n
            for n, v in arguments.items()
            if n not in group and isinstance(v, int | float | tuple) and not isinstance(v, bool)
        ]
        if missing:
            raise OtherTraining(
                f"ckpt_path: that training had another optimizer, without {', '.join(missing)}: choose the same optimizer"
            )
    before = checkpoint.get("optimizer_arguments") or {}
    changed = {n: arguments[n] for n, v in before.items() if n in arguments and arguments[n] != v}
    factor = changed.pop("lr", 1.0) / (before.get("lr") or 1.0) if "lr" in changed else 1.0
    for group in (each for state in checkpoint["optimizer_states"] for each in state["param_groups"]):
        group |= {name: value for name, value in changed.items() if group.get(name) == before[name]}
        for name in ("lr", "initial_lr"):
            if name in group and "max_lr" not in group:  # schedules with rates of their own
                group[name] *= factor
    for state in states_of(checkpoint):
        state |= {
            name: [rate * factor for rate in state[name]]
            for name in ("base_lrs", "_last_lr")
            if name in state
        }


def lengths(trainer: pl.Trainer) -> dict[str, int]:
    """Return the number of optimizer steps of the training, ``step``, and of whole epochs, ``epoch``; -1 without a limit.

    ``last`` is the number of the last epoch, which may end early.

    With a data module, `trainer.estimated_stepping_batches` is not used: it discards the state of the data loader
    when a run is resumed.
    """
    if trainer.max_epochs == -1 and trainer.max_steps < 0:
        return {"step": -1, "epoch": -1, "last": -1}
    data, limit = getattr(trainer, "datamodule", None), trainer.limit_train_batches
    if data is None:  # data loaders passed to `Trainer.fit`, which are made by this
        batches = trainer.num_training_batches if trainer.estimated_stepping_batches else 0
    else:
        whole = len(data.train_dataloader())
        batches = max(1, int(whole * limit)) if isinstance(limit, float) else min(whole, limit or whole)
    changing = [each for each in callbacks_of(trainer) if isinstance(each, GradientAccumulationScheduler)]
    epochs, most = trainer.max_epochs or 1, sys.maxsize if trainer.max_steps < 0 else trainer.max_steps
    if changing and epochs != -1:
        sizes = map(changing[0].get_accumulate_grad_batches, range(epochs))
        ends = [0, *accumulate(math.ceil(batches / size) for size in sizes)]
        total = min(ends[-1], most)
        return {"step": total, "epoch": bisect_right(ends, total) - 1, "last": bisect_left(ends, total)}
    of_epoch = math.ceil(batches / trainer.accumulate_grad_batches)
    total = most if epochs == -1 else min(of_epoch * epochs, most)
    if changing:
        return {"step": total, "epoch": -1, "last": -1}
    return {"step": total, "epoch": total // of_epoch, "last": math.ceil(total / of_epoch)}
