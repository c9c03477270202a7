"""Whether two runs left the same, bit for bit."""

import json
from pathlib import Path
from typing import Any

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seq2seq.training.checkpoint_file import read_checkpoint

COMPARED = (
    "epoch", "global_step", "state_dict", "callbacks", "optimizer_states", "lr_schedulers",
    "translation_module",
)  # fmt: skip
"""Parts of a checkpoint. The others tell where the run is, and how Lightning counts."""

EVERYTHING = {"scalars": 0, "images": 0, "tensors": 0}
TIMED = ("train/tokens_per_second", "best/tokens_per_second", "config/text_summary", "_hparams_/")
"""Tags, or their beginnings, that hold the time, or the name of the run."""
OF_THE_LAST_ATTEMPT = ("seconds", "tensorboard_share", "data_share", "padding_share")
"""Metrics that tell what the last attempt cost."""


def left_by(run_dir: Path) -> dict[str, Any]:
    """All that is to be equal, flat."""
    checkpoint = read_checkpoint(run_dir / "checkpoints" / "last.ckpt")
    metrics = json.loads((run_dir / "metrics.json").read_text())
    metrics = {name: value for name, value in metrics.items() if name not in OF_THE_LAST_ATTEMPT}
    values = {key: checkpoint[key] for key in COMPARED}
    return flat(values | {"metrics": metrics, "series": series_of(run_dir)})


def series_of(run_dir: Path) -> dict[str, list[Any]]:
    """Every TensorBoard series: steps and values."""
    events = EventAccumulator(str(run_dir), size_guidance=EVERYTHING, purge_orphaned_data=False)
    events.Reload()
    tags = events.Tags()
    scalars = {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in tags["scalars"]}
    images = {
        tag: [(e.step, e.encoded_image_string) for e in events.Images(tag)]
        for tag in tags["images"]
    }
    texts = {
        tag: [(e.step, e.tensor_proto.SerializeToString()) for e in events.Tensors(tag)]
        for tag in tags["tensors"]
    }
    found = scalars | images | texts
    return {tag: values for tag, values in found.items() if not tag.startswith(TIMED)}


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Nested dictionaries and lists as one dictionary of leaves."""
    if isinstance(value, dict):
        parts = [flat(part, f"{path}/{key}") for key, part in value.items()]
    elif isinstance(value, list | tuple):
        parts = [flat(part, f"{path}/{place}") for place, part in enumerate(value)]
    else:
        return {path: value}
    return {key: leaf for part in parts for key, leaf in part.items()}


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Names of the leaves that differ in a bit, or that one of the two lacks."""
    names = sorted(expected.keys() | found.keys())
    return [name for name in names if not _same(expected.get(name), found.get(name))]


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        return first.dtype == second.dtype and torch.equal(first, second)
    if isinstance(first, float) and isinstance(second, float):
        return first.hex() == second.hex()
    return type(first) is type(second) and first == second
