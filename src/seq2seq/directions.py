"""Whether higher or lower values of a metric are better, for callbacks, schedules and sweepers; names of checkpoints."""

import difflib
import inspect
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from hydra.experimental.callback import Callback
from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf, read_write

from seq2seq.errors import InputError


def own_metrics(config: DictConfig) -> dict[str, Any]:
    """Return the functions and classes of ``module.metrics`` by name, for what they declare."""
    found = config.module.get("metrics") or {}
    return {name: get_object(node._target_) for name, node in found.items() if node}


def complete_callbacks(config: DictConfig) -> None:
    """Set the direction of every metric that callbacks and schedule compare, and distinct names of checkpoints.

    Args:
        config: Of the run; its nodes of callbacks and scheduler are changed.

    Raises:
        InputError: A direction is wrong, or not known and not given.
    """
    from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    own = own_metrics(config)
    for name, node in config.callbacks.items():
        if not node or "_target_" not in node:
            continue
        target, key = get_object(node._target_), f"callbacks.{name}"
        takes = inspect.signature(target).parameters
        monitor = node.get("monitor", takes["monitor"].default if "monitor" in takes else None)
        passes_on = inspect.isclass(target) and issubclass(target, (EarlyStopping, ModelCheckpoint))
        passes_on = passes_on and any(each.kind is each.VAR_KEYWORD for each in takes.values())
        if isinstance(monitor, str) and ("mode" in takes or "mode" in node or passes_on):
            _set_mode(config, key, node.get("mode"), monitor, own)
        elif "mode" in node and node.mode is None:
            OmegaConf.update(config, f"{key}.mode", "min")  # nothing is compared
        counts = node.get("enable_version_counter", True)
        many = node.get("save_top_k", 1) not in (0, 1)
        if inspect.isclass(target) and issubclass(target, ModelCheckpoint) and many and not counts:
            if node.get("filename") and "{step}" not in node.filename:
                OmegaConf.update(config, f"{key}.filename", f"{node.filename}-{{step}}")
    if config.scheduler:
        target = get_object(config.scheduler._target_)
        if inspect.isclass(target) and issubclass(target, ReduceLROnPlateau):
            _set_mode(config, "scheduler", config.scheduler.get("mode"), "val/loss", own)


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


def _set_mode(config: DictConfig, key: str, mode: str | None, monitor: str, own: Mapping[str, Any]) -> None:
    right = checked_direction(f"{key}.mode", mode, monitor, own, what=f"{key}.monitor={monitor}")
    OmegaConf.update(config, f"{key}.mode", right, force_add=True)


def checked_direction(
    key: str, given: str | None, metric: str, own: Mapping[str, Any], *, what: str,
    words: tuple[str, str] = ("min", "max"),
) -> str:  # fmt: skip
    """Return the direction of a metric in the words of a key.

    Args:
        key: Where the direction is given.
        given: What is given; None: nothing.
        metric: Its logged name.
        own: The user's metrics.
        what: What a message names.
        words: Lower values are better, higher values are better.

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
