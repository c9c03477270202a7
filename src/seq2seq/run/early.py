"""What is wrong with a run and is seen without PyTorch, which takes seconds to load: names, sizes, devices, files."""

import os
import re
from collections.abc import Iterator, Mapping
from glob import glob
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from seq2seq.common.shipped import config_of
from seq2seq.errors import InputError
from seq2seq.run.config import flat, objects
from seq2seq.run.devices import is_missing

RANGES = {
    r"data\.(batch_size|max_tokens|max_length|max_examples|tokenizer\.min_frequency)": (1, inf, "a whole number above 0"),
    r"data\.(train_pairs|validation_pairs|test_pairs)": (0, inf, "a whole number from 0"),
    r"model\.(.*\.)?(embedding_size|hidden_size|readout_size)": (1, 2**24, "a number from 1 to 16,777,216"),
    r"model\..*\.(num_layers|heads)": (1, 256, "a number from 1 to 256"),
    r"model\.(.*\.)?(embedding_)?dropout": (0, 1 - 1e-9, "a probability from 0 to below 1"),
    r"trainer\.(max_epochs|max_steps)": (-1, inf, "a number above 0, or -1 for no limit"),
    r"trainer\.accumulate_grad_batches": (1, inf, "a whole number above 0"),
    r"optimizer\.(lr|weight_decay)": (0, inf, "a number from 0"),
}  # fmt: skip
"""Minimum and maximum of numbers by their keys, of the classes of this program, of Lightning and of PyTorch."""

FEW = 16_000_000
"""Bytes of text that are read as a whole; of more, the first lines."""


def check_early(config: DictConfig) -> None:
    """Refuse what is wrong for sure; the rest is found when the objects are built.

    Raises:
        InputError: A number is outside its range, a device or a file is missing, or text cannot be read.
    """
    values = OmegaConf.to_container(config)
    assert isinstance(values, dict)
    _check_numbers(values)
    _check_length(config)
    kind = values["trainer"].get("accelerator")
    if isinstance(kind, str) and is_missing(kind):
        raise InputError(f"device={kind}: this machine has no such device; choose device=cpu or device=auto")
    if config.init_from is not None:
        try:
            config_of(config.init_from)
        except InputError as error:
            raise InputError(f"init_from={error}") from error
    if config.ckpt_path not in (None, "last") and not Path(config.ckpt_path).is_file():
        raise InputError(f"ckpt_path={config.ckpt_path}: there is no such file")
    _check_text(values["data"])


def _check_numbers(values: Mapping[Any, Any]) -> None:
    for place, node in objects(values):
        if str(node["_target_"]).startswith(("seq2seq.", "lightning.", "torch.")):
            for key, value in flat({k: v for k, v in node.items() if not isinstance(v, dict)}, place).items():
                for pattern, (low, high, needed) in RANGES.items():
                    is_number = isinstance(value, int | float) and not isinstance(value, bool)
                    if is_number and re.fullmatch(pattern, key) and not low <= value <= high:
                        raise InputError(f"{key}={value}: {needed} is needed")


def _check_length(config: DictConfig) -> None:
    """Refuse a training without a step, unless there are weights to keep: of another model or an earlier start."""
    last = Path(str(config.paths.run_dir)) / "checkpoints" / "last.ckpt"
    if config.init_from is not None or config.ckpt_path is not None or last.exists():
        return
    for key in ("max_epochs", "max_steps"):
        if config.trainer.get(key) == 0:
            raise InputError(f"trainer.{key}=0: no step would be trained; give more, or init_from=RUN")


def _check_text(data: Mapping[str, Any]) -> None:
    from seq2seq.data.formats.columns import Columns
    from seq2seq.data.formats.pairs import kind_of_file, read_pairs, read_split, two_files
    from seq2seq.data.text import stream_lines

    target = str(data["_target_"])
    if not target.startswith("seq2seq."):
        return
    languages = str(data.get("source_language")), str(data.get("target_language"))
    columns = Columns(languages, (data.get("source_column"), data.get("target_column")))
    if target.endswith((".ParallelText", ".LargeText")):
        for split in ("train", "validation", "test"):
            key, files = f"data.{split}", data.get(split) or {}
            given = list(_paths(files.get("source"), files.get("target")))
            if any(path.exists() and not (path.is_file() or path.is_dir()) for path in given):
                continue  # a pipe, which is read once
            if sum(path.stat().st_size for path in given if path.is_file()) <= FEW:
                read_split(key, files, columns)
                continue
            two_files(key, files)
            for path in given:
                for _ in islice(stream_lines(path), 1000):
                    pass
    elif target.endswith(".TabSeparatedText"):
        path = Path(str(data["file"]))
        if path.exists() and path.is_file() and os.path.getsize(path) > FEW:
            kind_of_file(str(path))
        else:
            read_pairs(str(path), columns)


def _paths(*patterns: Any) -> Iterator[Path]:
    """Yield the files that names or patterns match; a name that matches none as it is."""
    for pattern in patterns:
        if isinstance(pattern, str):
            yield from map(Path, sorted(glob(pattern)) or [pattern])
