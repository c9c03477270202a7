"""What a finished run is worth: ``metrics.json``, and the same in its ledger."""

from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct

from seq2seq.metrics import METRICS
from seq2seq.storage.typed_json import Count, Number, Value, converted, read_json

VERSION = 1

Score = Annotated[float, Meta(ge=0, le=101)]
"""0 to 100, but for rounding."""


_SCORES = [(name, Score | None, None) for name in METRICS]
"""A run of before there was a metric has none of it."""

Compared = defstruct("Compared", _SCORES)
"""What runs are compared by, of a split; there may be more."""

Search = defstruct("Search", [("num_sentences", Count), *_SCORES])
"""What is shown of the scores of a split by a search; there may be more."""

Card = defstruct("Card", [("num_sentences", Count), *_SCORES, ("beam", Search | None, None)])
"""The same of greedy search, with that of beam search where there was one."""


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
    converted(scores, dict[str, Compared | Number | None])  # type: ignore[valid-type]


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
    converted(metrics, dict[str, Card | Number | None])  # type: ignore[valid-type]
