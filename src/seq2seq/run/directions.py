"""Whether higher or lower values of a metric are better, for callbacks, schedules and sweepers; names of checkpoints."""

import difflib
import inspect
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, ListConfig, read_write

from seq2seq.common.arguments import arguments_of, parameters_of
from seq2seq.errors import InputError
from seq2seq.run.config import target_of


def own_metrics(config: DictConfig) -> dict[str, Any]:
    """Return the functions and classes of ``module.metrics`` by name, for what they declare."""
    found = config.module.get("metrics") or {}
    return {name: target_of(f"module.metrics.{name}", node._target_) for name, node in found.items() if node}


def directions(config: DictConfig) -> dict[str, str]:
    """Return, by key, the direction of every metric that callbacks and schedule compare, and names of checkpoints.

    Raises:
        InputError: A direction is wrong, or not known and not given.
    """
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    own = own_metrics(config)
    chosen: dict[str, str] = {}
    for name, node in config.callbacks.items():
        if node:
            chosen |= _of_callback(f"callbacks.{name}", node, own)
    if config.scheduler:
        target = target_of("scheduler", config.scheduler._target_)
        if inspect.isclass(target) and issubclass(target, ReduceLROnPlateau):
            chosen |= _mode("scheduler", config.scheduler.get("mode"), "val/loss", own)
    return chosen


def _of_callback(key: str, node: DictConfig, own: Mapping[str, Any]) -> dict[str, str]:
    from lightning.pytorch.callbacks import ModelCheckpoint

    target = target_of(key, node._target_)
    chosen: dict[str, str] = {}
    monitor = parameters_of(target).get("monitor")
    monitored = node.get("monitor", None if monitor is None else monitor.default)
    if isinstance(monitored, str) and ("mode" in node or "mode" in arguments_of(target)[0]):
        chosen = _mode(key, node.get("mode"), monitored, own)
    elif "mode" in node and node.mode is None:
        chosen[f"{key}.mode"] = "min"  # nothing is compared
    if inspect.isclass(target) and issubclass(target, ModelCheckpoint) and node.get("filename"):
        several = node.get("save_top_k", 1) not in (0, 1) and not node.get("enable_version_counter", True)
        if several and "{step}" not in node.filename:
            chosen[f"{key}.filename"] = f"{node.filename}-{{step}}"
    return chosen


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
        split, _, score = metric.rpartition("/")
        nearest = difflib.get_close_matches(score, [*METRICS, *own], n=1)
        hint = f"did you mean {split}/{nearest[0]}? Otherwise " if nearest and nearest[0] != score else ""
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
