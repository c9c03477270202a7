"""Whether a run may continue from what is in its folder: under the conditions it began with."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field, to_builtins

from seq2seq.config import Config, ResumeMode
from seq2seq.errors import InputError
from seq2seq.experiments.checkpoints import LAST, PREVIOUS
from seq2seq.experiments.ledger import flat
from seq2seq.model.spec import BEFORE_CHOICES
from seq2seq.option_rules import without_effect
from seq2seq.runs.launch import num_processes
from seq2seq.runs.making.model import DROPOUTS, KEYS
from seq2seq.runs.run_record import config_values
from seq2seq.storage.typed_json import Count, Value, converted
from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import ParallelCorpus
from seq2seq.text.shards import stamps
from seq2seq.training.checkpoint_file import VERSION, newest_checkpoint

FREE = (
    "name", "experiment_name", "runs_dir", "resume.", "device.", "tensorboard.", "decoding.beam",
    "decoding.length_penalty", "decoding.alpha", "sweep.", "trainer.max_epochs",
    "trainer.max_steps", "trainer.log_every", "trainer.checkpoint_every", "allow_overlap", "logger",
    "trainer.profile",
)  # fmt: skip
"""Keys, or beginnings of keys, that may change: they decide nothing, or the length of training."""

FIXED = (
    "model.", "attention.", "optim.", "init_from", "data.tokenizer.", "data.max_length",
    "data.truncate", "data.reverse_source", "data.both_directions", "data.source_language",
    "data.target_language",
)  # fmt: skip
"""Those that may not: the checkpoint's state would overrule them, or not go with them."""

FORCEABLE = (*DROPOUTS, "optim.label_smoothing")
"""Exceptions from `FIXED`: with ``resume.force=true`` they may change, like all that is not named.

(Of `data`, what is not named says where the corpus is; its fingerprint says what it is.)
"""

BEFORE = {"data.tokenizer.restore_case": False, "optim.guidance": 0.0, "optim.r_drop": 0.0}
BEFORE |= {"data.both_directions": False}
BEFORE |= {KEYS[name]: value for name, value in BEFORE_CHOICES.items()}
"""What keys were before there was a choice, of those that have come since checkpoints tell them."""

NUM_PROCESSES = "number of processes"
"""Among the keys of `conditions_of`: the sizes of the batches and the random numbers follow it."""


class _Precision(Struct):
    device: str
    name: str = field(name="is")


class _Conditions(Struct):
    config: dict[str, Value]
    corpus: str
    vocabulary: str
    precision: _Precision


LIGHTNING = Annotated[str, Meta(pattern=r"^2(\.\d{1,4}){1,2}((rc|\.post|\.dev)\d{1,4})?$")]
"""Versions whose checkpoints Lightning need not migrate."""


class _Checkpoint(Struct):
    """What is read of a checkpoint before there is a training to compare it with."""

    epoch: Count
    global_step: Count
    lightning: LIGHTNING = field(name="pytorch-lightning_version")
    state_dict: dict[str, Any]
    loops: dict[str, Any]
    callbacks: dict[str, Any]
    optimizer_states: list[Any]
    lr_schedulers: list[Any]
    conditions: _Conditions
    events: dict[str, Count]
    translation_module: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where a run continues.

    Attributes:
        checkpoint: the file.
        step: optimiser steps that it holds.
        conditions: those that it was written under.
        event_sizes: how long the event files were.
    """

    checkpoint: Path
    step: int
    conditions: dict[str, Any]
    event_sizes: dict[str, int]


def find_resume_point(
    config: Config, conditions: Mapping[str, Any], run_dir: Path
) -> ResumePoint | None:
    """Where to continue; None to begin.

    Args:
        config: of the run, now.
        conditions: of the run, now, as far as they are known.
        run_dir: folder of the run.

    Raises:
        InputError: the conditions have changed, or ``resume=`` does not allow it.
        TrainingFailed: all checkpoints are damaged.
    """
    require_mode(config, run_dir)
    found = newest_checkpoint(run_dir / "checkpoints")
    if found is None:
        return None
    path, content = found
    with continuable(path, content):
        read = converted(content, _Checkpoint)
    point = ResumePoint(path, read.global_step, to_builtins(read.conditions), read.events)
    require_same_conditions(point, conditions, force=config.resume.force)
    if read.epoch > config.trainer.max_epochs:
        raise InputError(
            f"{path} is in epoch {read.epoch + 1}, beyond trainer.max_epochs="
            f"{config.trainer.max_epochs}: raise it"
        )
    return point


def require_mode(config: Config, run_dir: Path) -> None:
    """Refuse what ``resume=`` does not allow, whatever is in the checkpoints.

    Raises:
        InputError: there are some with ``never``, or none with ``required``.
    """
    folder, mode = run_dir / "checkpoints", config.resume.mode
    found = sorted(path.name for path in folder.glob("*.ckpt"))
    if mode is ResumeMode.never and found:
        raise InputError(
            f"resume=never, but {folder} holds {', '.join(found)}: give another name=…, or remove "
            "the folder"
        )
    if mode is ResumeMode.required and not {LAST, PREVIOUS} & {*found}:
        raise InputError(
            f"resume=required, but {folder} holds no checkpoint: check name=…, or leave "
            "resume=required out to train from the beginning"
        )


@contextmanager
def continuable(path: Path, content: Mapping[str, Any]) -> Iterator[None]:
    """Makes a checkpoint that has not the form of those that this program writes a wrong input.

    Raises:
        InputError: a `ValueError` was raised, which names the part.
    """
    try:
        yield
    except ValueError as error:
        version = content.get("format_version", "unknown")
        raise InputError(
            f"{path} cannot be continued from ({error}; its format version is {version!s:.20}, "
            f"this program's {VERSION}): use the program it is from, or give another name=…"
        ) from error


def conditions_of(config: Config, corpus: ParallelCorpus) -> dict[str, Any]:
    """What a checkpoint remembers of the run, for comparison: plain values.

    ``config`` (key to value) and ``corpus`` (SHA-256 of the training and validation pairs).
    """
    return {
        "config": flat(config_values(config)) | {NUM_PROCESSES: num_processes(config.device)},
        "corpus": corpus_fingerprint(corpus, with_links=config.optim.guidance > 0),
    }


def corpus_fingerprint(corpus: ParallelCorpus, *, with_links: bool = False) -> str:
    """SHA-256 of the training and validation pairs, in order, and of their links where these count.

    Of files that are too large to hold, their sizes and times of modification are taken instead.
    """
    digest = hashlib.sha256()
    for _, size, modified, _ in stamps(corpus.large):
        digest.update(f"{size} {modified}\n".encode())
    for split in (corpus.train, corpus.validation):
        digest.update(f"{len(split)}\n".encode())
        for pair in split:
            digest.update(f"{pair.source}\n{pair.target}\n".encode("utf-8", "surrogatepass"))
            digest.update(f"{pair.alignment} {pair.possible}\n".encode() * with_links)
    return digest.hexdigest()


def vocabulary_fingerprint(codecs: Iterable[TextCodec]) -> str:
    """SHA-256 of the tokens of both sides, in the order of their ids."""
    digest = hashlib.sha256()
    for codec in codecs:
        tokens = codec.vocabulary.tokens
        digest.update(f"{len(tokens)}\n".encode())
        digest.update("\n".join(tokens).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def require_same_conditions(
    point: ResumePoint, conditions: Mapping[str, Any], *, force: bool
) -> None:
    """Compare what is known of a run now with what its checkpoint remembers.

    Raises:
        InputError: naming what differs.
    """
    now = conditions["config"]
    known = {key: BEFORE[key] for key in BEFORE.keys() & now.keys()} | point.conditions["config"]
    unknown = {key: "unknown" for key in now.keys() - known.keys() if key.startswith(FIXED)}
    idle = without_effect(now).keys() & (without_effect(known).keys() | unknown.keys())
    began = known | unknown
    differing = [key for key in sorted(began.keys() & now.keys() - idle) if began[key] != now[key]]
    fixed = [key for key in differing if key.startswith(FIXED) and key not in FORCEABLE]
    if fixed:
        raise InputError(
            f"{point.checkpoint} was written with {_changes(fixed, began, now)}: set it back, or "
            "give another name=… and start from its weights with init_from=…"
        )
    for name in ("corpus", "vocabulary"):
        if name in conditions and conditions[name] != point.conditions.get(name):
            raise InputError(
                f"{point.checkpoint} was written with another {name}: bring back the training and "
                "validation text it was trained on, or give another name=…"
            )
    forceable = [key for key in differing if not key.startswith((*FREE, "data."))]
    if forceable and not force:
        raise InputError(
            f"{point.checkpoint} was written with {_changes(forceable, began, now)}: set it back, "
            "or continue all the same with resume.force=true"
        )


def _changes(keys: Iterable[str], began: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={_text(began[key])}, not {_text(now[key])}" for key in keys)


def _text(value: Any) -> str:
    return "null" if value is None else f"{value!s:.80}"
