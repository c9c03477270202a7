"""Whether higher or lower values of a metric are better, for callbacks, schedules and sweepers; names of checkpoints."""

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, ListConfig, read_write

from hydra_checked import arguments_of, nearest, parameters_of
from seq2seq.errors import InputError
from seq2seq.run.config import target_of

FINDERS = {"BatchSizeFinder": "data.batch_size=N", "LearningRateFinder": "optimizer.lr=RATE"}
"""Callbacks of Lightning that choose a value, and what to give in their place."""


def own_metrics(config: DictConfig) -> dict[str, Any]:
    """Return the functions and classes of ``module.metrics`` by name, for what they declare."""
    found = config.module.get("metrics") or {}
    return {name: target_of(f"module.metrics.{name}", node._target_) for name, node in found.items() if node}


def directions(config: DictConfig) -> dict[str, Any]:
    """Return, by key, the direction of every metric that callbacks and schedule compare, names of checkpoints, and when to stop.

    Raises:
        InputError: A direction is wrong, or not known and not given; or a checkpoint callback would keep another model
            than the best, see `_check_times`.
    """
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    own = own_metrics(config)
    chosen: dict[str, Any] = {}
    trainer = config.trainer
    at_epoch_ends = (
        trainer.get("val_check_interval") is None and trainer.get("check_val_every_n_epoch", 1) == 1
    )
    for name, node in config.callbacks.items():
        if node:
            chosen |= _of_callback(f"callbacks.{name}", node, own, at_epoch_ends=at_epoch_ends)
    if config.scheduler:
        target = target_of("scheduler", config.scheduler._target_)
        if inspect.isclass(target) and issubclass(target, ReduceLROnPlateau):
            chosen |= _mode("scheduler", config.scheduler.get("mode"), "val/loss", own)
    return chosen


def _of_callback(
    key: str, node: DictConfig, own: Mapping[str, Any], *, at_epoch_ends: bool
) -> dict[str, Any]:
    from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

    target = target_of(key, node._target_)
    for each in getattr(target, "__mro__", ()):
        if each.__name__ in FINDERS:
            raise InputError(
                f"{key}: config.yaml and a run that continues would not have what it finds: give {FINDERS[each.__name__]}"
            )
    chosen: dict[str, Any] = {}
    monitor = parameters_of(target).get("monitor")
    monitored = node.get("monitor", None if monitor is None else monitor.default)
    if isinstance(monitored, str) and re.match(r"val/(greedy|beam)/|test/", monitored):
        raise InputError(
            f"{key}.monitor={monitored}: validations while training have scores of greedy search, such as "
            f"val/{monitored.rpartition('/')[2]}"
        )
    if isinstance(monitored, str) and ("mode" in node or "mode" in arguments_of(target)[0]):
        chosen = _mode(key, node.get("mode"), monitored, own)
    elif "mode" in node and node.mode is None:
        chosen[f"{key}.mode"] = "min"  # nothing is compared
    if inspect.isclass(target) and issubclass(target, EarlyStopping) and str(monitored).startswith("val/"):
        when = f"{key}.check_on_train_epoch_end"
        if "check_on_train_epoch_end" in node and node.check_on_train_epoch_end is None:
            chosen[when] = (
                False  # a run that goes on from a checkpoint of a validation has no score at its epoch's end
            )
    if inspect.isclass(target) and issubclass(target, ModelCheckpoint):
        _check_times(key, node, monitored, at_epoch_ends=at_epoch_ends)
        several = node.get("filename") and node.get("save_top_k", 1) not in (0, 1)
        if several and "{step}" not in node.filename:
            chosen[f"{key}.filename"] = f"{node.filename}-{{step}}"
    return chosen


def _check_times(key: str, node: DictConfig, monitored: Any, *, at_epoch_ends: bool) -> None:
    """Refuse a checkpoint whose model is not the one that its score is of, and one that keeps none.

    Args:
        key: Of the callback.
        node: Its arguments.
        monitored: The metric that it compares.
        at_epoch_ends: Whether there is one validation an epoch, at its end.

    Raises:
        InputError: Naming the key to leave out.
    """
    if not isinstance(monitored, str):
        return
    if node.get("save_top_k", 1) == 0:
        raise InputError(
            f"{key}.save_top_k=0 keeps no best model: to export the last one, give {key}.monitor=null"
        )
    names = [
        "every_n_train_steps",
        "train_time_interval",
        *([] if at_epoch_ends else ["save_on_train_epoch_end"]),
    ]
    wrong = next((name for name in names if node.get(name)), None)
    if wrong is not None and not monitored.startswith("train/"):
        raise InputError(
            f"{key}.{wrong}={node[wrong]}: {monitored} is of the validation before, of another model; leave it out, and "
            "give trainer.val_check_interval=BATCHES to choose among more models"
        )


def checkpoint_files(config: DictConfig) -> list[Path]:
    """Return the checkpoints that callbacks write, but for numbers in their names.

    Raises:
        InputError: Two callbacks write the same file, one over the other.
    """
    from lightning.pytorch.callbacks import ModelCheckpoint

    usual = f"{config.paths.run_dir}/checkpoints"
    last = (config.callbacks.get("periodic") or {}).get("dirpath", usual)
    writers = {(last, name): "callbacks.periodic" for name in ("last", "last.next", "last.prev")}
    for name, node in config.callbacks.items():
        target = target_of(f"callbacks.{name}", node._target_) if node else None
        if not (inspect.isclass(target) and issubclass(target, ModelCheckpoint)):
            continue
        folder = node.get("dirpath") or usual
        for key, file in (
            ("filename", node.get("filename")),
            ("save_last", "last" if node.get("save_last") else None),
        ):
            other = writers.setdefault((folder, file), f"callbacks.{name}") if file else f"callbacks.{name}"
            if other != f"callbacks.{name}":
                raise InputError(
                    f"callbacks.{name}.{key}={node[key]}: {other} writes {folder}/{file}.ckpt, too: give another name or "
                    f"another callbacks.{name}.dirpath"
                )
    places = [*writers, *((folder, "best") for folder, _ in writers)]  # a link to the best of several
    return [Path(folder, f"{name}.ckpt").absolute() for folder, name in places]


def _mode(key: str, mode: str | None, monitor: str, own: Mapping[str, Any]) -> dict[str, str]:
    return {
        f"{key}.mode": checked_direction(f"{key}.mode", mode, monitor, own, what=f"{key}.monitor={monitor}")
    }


def check_callbacks(config: DictConfig, callbacks: Iterable[Any]) -> None:
    """Refuse callbacks whose class compares a metric in the wrong direction, whatever the configuration says.

    Raises:
        InputError: A callback does.
    """
    own = own_metrics(config)
    for each in callbacks:
        monitor, mode = getattr(each, "monitor", None), getattr(each, "mode", None)
        if isinstance(monitor, str) and mode in ("min", "max"):
            name = type(each).__name__
            checked_direction(f"mode of {name}", mode, monitor, own, what=f"monitor of {name}")


def checked_direction(
    key: str, given: str | None, metric: str, own: Mapping[str, Any], *, what: str,
    words: tuple[str, str] = ("min", "max"),
) -> str:  # fmt: skip
    """Return the direction of a metric in the words of a key.

    `given` is given at `key`; `what` is named by messages; `words` say that lower values are better, and that higher
    ones are.

    Raises:
        InputError: What is given is wrong, or nothing is given and the direction is not known.
    """
    from seq2seq.evaluation.metrics import METRICS, direction_of

    known = direction_of(metric, own)
    right = None if known is None else words[known == "max"]
    if given not in (None, *words):
        raise InputError(f"{key}={given}: write {' or '.join(words)}")
    if right is None and given is None:
        split, _, score = (metric if "/" in metric else metric.replace("_", "/", 1)).rpartition("/")
        split = split or "val"
        meant = nearest(score, [*METRICS, *own])
        hint = f"did you mean {split}/{meant}? Otherwise " if meant and f"{split}/{meant}" != metric else ""
        raise InputError(
            f"{what}: whether higher or lower values are better is not known; {hint}give {key}={words[0]} or "
            f"{key}={words[1]}, or set higher_is_better on your metric"
        )
    if right is not None and given not in (None, right):
        better = "higher" if known == "max" else "lower"
        raise InputError(f"{key}={given}: {better} values of {metric} are better; leave out {key}")
    return right or str(given)


class SweepDirection(Callback):
    """Hydra callback that gives a sweeper the direction of ``metric``, or refuses the wrong one."""

    def on_multirun_start(self, config: DictConfig, **options: Any) -> None:
        """Set ``hydra.sweeper.direction`` of a sweeper that has it."""
        sweeper = config.hydra.sweeper
        if "direction" not in sweeper or isinstance(sweeper.direction, ListConfig):
            return
        given = None if sweeper.direction is None else str(sweeper.direction)
        try:
            right = checked_direction(
                "hydra.sweeper.direction", given, config.metric, own_metrics(config),
                what=f"metric={config.metric}", words=("minimize", "maximize"),
            )  # fmt: skip
        except InputError as error:  # Hydra makes other exceptions of callbacks a warning
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)
        with read_write(config.hydra):
            sweeper.direction = right
