"""The root of a configuration: every key of it that a run reads. A key that is not here has no effect, and is refused."""

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Le

from seq2seq.common.numbers import Ratio, Seed, Weight
from seq2seq.decoding import BeamSize, PenaltyName

Node = dict[str, Any]


@dataclass(frozen=True)
class Penalty:
    """Of the length of hypotheses, see `seq2seq.decoding.search.LengthPenalty`."""

    name: PenaltyName
    alpha: Weight = 0.6


@dataclass(frozen=True)
class Decoding:
    """The search for the final scores."""

    beam_size: BeamSize = 1
    penalty: Penalty | None = None
    max_ratio: Ratio | None = None


@dataclass(frozen=True)
class Paths:
    """Where runs are."""

    runs_dir: str
    run_dir: str


@dataclass(frozen=True)
class Root:
    """The keys of the root, as a run gets them; those with a default may be deleted.

    ``conf/config.yaml`` says what each means.
    """

    experiment_name: str
    name: str
    seed: Seed
    metric: str
    paths: Paths
    data: Node
    model: Node
    module: Node
    optimizer: Node
    trainer: Node
    decoding: Decoding
    callbacks: Node | None = None
    logger: Node | None = None
    scheduler: Node | None = None
    threads: Annotated[int, Ge(1), Le(1024)] | None = None
    init_from: str | None = None
    ckpt_path: str | None = None
    overwrite: bool = False


CASE = "case=keep, lower or restore"
MOVED = {
    "ema_decay": "callbacks.averaging.decay",
    "data.tokenizer.lowercase": f"data.tokenizer.{CASE}",
    "data.tokenizer.truecase": f"data.tokenizer.{CASE}",
    "data.target_tokenizer.lowercase": f"data.target_tokenizer.{CASE}",
    "data.target_tokenizer.truecase": f"data.target_tokenizer.{CASE}",
    "data.truncate": "data.max_length.over=cut",
    "data.validation.fraction": "data.split.validation",
    "data.fraction": "data.split.validation",
    "data.validation_pairs": "data.split.validation",
    "data.test_pairs": "data.split.test",
    "data.split_seed": "data.split.seed",
    "data.in_order": "data.split.in_order",
    "decoding.length_penalty": "penalty=none, average or gnmt",
    "decoding.length_penalty_alpha": "penalty=gnmt decoding.penalty.alpha=…",
}
"""Keys of version 0.4, and what is given in their place; the table goes with version 0.6."""
