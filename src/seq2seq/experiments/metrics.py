"""What a finished run is worth: ``metrics.json``, and the same in its ledger."""

from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct

from seq2seq.evaluation.metrics import METRICS
from seq2seq.storage.typed_json import Count, Number, Value, converted, read_json

VERSION = 1

Score = Annotated[float, Meta(ge=0, le=101)]
"""0 to 100, but for rounding."""

Compared: Any = defstruct(
    "Compared",
    [
        (name, Score | None if metric.direction == "max" else Number | None, None)
        for name, metric in METRICS.built_in.items()
    ],
    kw_only=True,
)
"""Scores of a split. A run has none by a metric of after it; there may be others."""


class Card(Compared):
    """What is shown of the scores of a split; there may be more."""

    num_sentences: Count
    bleu_signature: str = ""
    beam: "Card | None" = None


class _Facts(Struct):
    """What is shown of a training; the shares are of the attempt that ended it."""

    seconds: Annotated[float, Meta(ge=0, le=1e12)]
    tensorboard_share: Number | None = None
    data_share: Number | None = None
    padding_share: Number | None = None


def require_scores(scores: dict[str, Any]) -> None:
    """Check scores by split, and facts of the training.

    Raises:
        ValueError: naming what is wrong.
    """
    converted(scores, dict[str, Compared | Number | None])


def read_metrics(path: Path) -> dict[str, Any]:
    """Scores by split, then facts of the run.

    Raises:
        InputError: the file does not hold them.
    """
    return read_json(
        path,
        dict[str, Value],
        version=VERSION,
        refusal="does not hold the metrics of a run",
        remedy="remove it to score the run again",
        check=_require_shown,
    )


def _require_shown(metrics: dict[str, Any]) -> None:
    converted(metrics, _Facts)
    converted(metrics, dict[str, Card | Number | None])
