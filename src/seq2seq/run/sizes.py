"""Values that are null in the configuration and follow from the size of the corpus, see `recipe=standard`."""

import re
from collections.abc import Mapping
from math import inf, log
from typing import Any

from omegaconf import DictConfig, OmegaConf

AUTOMATIC = (
    "data.batch_size", "model.encoder.dropout", "model.encoder.embedding_dropout", "model.decoder.dropout",
    "model.decoder.embedding_dropout", "trainer.check_val_every_n_epoch",
)  # fmt: skip
"""Keys of these values."""

ENOUGH_STEPS, FEW_PASSES, MANY_PASSES = 2_000, 2.5, 34.0


def sizes(config: DictConfig, num_pairs: int, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for keys that are null, by key.

    Those of an earlier start of this run, `stored` by dotted key, are used again.
    """
    trainer, chosen = config.trainer, {}
    epochs, steps = length(trainer)
    accumulated = trainer.get("accumulate_grad_batches", 1)
    pairs = num_pairs / (num_devices(trainer) * trainer.get("num_nodes", 1))

    def choose(key: str, value: Any) -> Any:
        before = stored.get(key)
        chosen[key] = value if before is None else before
        return chosen[key]

    size = config.data.get("batch_size", 128)
    if size is None and config.data.get("max_tokens") is None:
        size = choose("data.batch_size", batch_size(pairs, epochs, steps, accumulated))
    num_passes = min(epochs, steps * (size or 128) * accumulated / pairs)
    num_passes = MANY_PASSES if num_passes == inf else num_passes  # of a training without a limit
    of_embeddings, of_states = dropouts(max(num_passes, 0.1))
    for side in ("model.encoder", "model.decoder"):
        node = OmegaConf.select(config, side)
        if node.get("dropout", 0) is None:
            choose(f"{side}.dropout", of_states)
            if node.get("embedding_dropout", 0) is None:
                choose(f"{side}.embedding_dropout", of_embeddings)
    interval = "check_val_every_n_epoch"
    if trainer.get(interval, 1) is None and isinstance(trainer.get("val_check_interval"), float):
        choose(f"trainer.{interval}", 1)  # a share is of an epoch
    elif trainer.get(interval, 1) is None and trainer.get("val_check_interval") is None:
        num_epochs = max(1, round(num_passes)) if steps < inf else epochs
        every = 1 if num_epochs == inf else max(1, round(num_epochs / 30))  # for about thirty validations
        choose(f"trainer.{interval}", every)
    return chosen


def said(chosen: Mapping[str, Any]) -> str:
    """Return a line with chosen values, as they could be given; an empty text if nothing was chosen."""
    return f"automatic   {' '.join(f'{key}={value}' for key, value in chosen.items())}\n" if chosen else ""


def num_devices(trainer: Mapping[str, Any]) -> int:
    """Return the number of devices of a machine that ``trainer.devices`` means: a number, indices, -1 or auto for all."""
    given, kind = trainer.get("devices", 1), trainer.get("accelerator", "auto")
    if given in (-1, "-1", "auto"):
        import torch

        return max(torch.cuda.device_count(), 1) if kind in ("auto", "gpu", "cuda") else 1
    if isinstance(given, str) and not given.strip().isdecimal():  # 0,1
        return max(len(re.findall(r"\d+", given)), 1)
    return max(int(given) if isinstance(given, int | str) else len(given), 1)


def follows(key: str, chosen: Any, given: Any) -> bool:
    """Return whether a value may be one that the program chose, by the corpus or by a metric, for the value that is given."""
    if key.endswith(".filename"):
        return bool(chosen == f"{given}-{{step}}")
    return given is None and (key in AUTOMATIC or key.endswith((".mode", ".check_on_train_epoch_end")))


def length(trainer: Mapping[str, Any]) -> tuple[float, float]:
    """Return the epochs and optimizer steps of a training at most, as `lightning.Trainer` understands its arguments."""
    epochs, steps = trainer.get("max_epochs"), trainer.get("max_steps", -1)
    limited = isinstance(steps, int) and steps >= 0
    if not isinstance(epochs, int):
        epochs = -1 if limited or trainer.get("max_time") else 1000
    return inf if epochs < 0 else epochs, steps if limited else inf


def batch_size(num_pairs: float, max_epochs: float, max_steps: float, accumulate: int = 1) -> int:
    """Return the largest of 128, 64, 32 and 16 sentences that leaves enough steps.

    The pairs are those of a process; `accumulate` batches are a step.
    """
    for size in (128, 64, 32):
        if min(max_epochs * num_pairs / size / accumulate, max_steps) >= ENOUGH_STEPS:
            return size
    return 16


def dropouts(num_passes: float) -> tuple[float, float]:
    """Return dropout of embeddings, and of states and features, for so many passes over a corpus.

    0.3 and 0.5 were best for 34 passes over Multi30k, 0.1 for two and a half; between them by the logarithm
    of the passes.
    """
    share = min(max(0.0, log(num_passes / FEW_PASSES) / log(MANY_PASSES / FEW_PASSES)), 1.0)
    return round(0.1 + 0.2 * share, 2), round(0.1 + 0.4 * share, 2)
