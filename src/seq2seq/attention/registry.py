"""Scores by name, those of other packages included.

Another package adds a score through an entry point in its ``pyproject.toml``:

    [project.entry-points."seq2seq.scores"]
    cosine = "its_module:cosine"

where ``cosine(query_size, key_size, hidden_size)`` returns a `seq2seq.attention.scores.Score`.
The package is imported when the name is asked for, not before.
"""

import difflib
import math
from importlib import metadata
from typing import Protocol, runtime_checkable

from seq2seq.attention.scores import (
    AdditiveScore,
    BilinearScore,
    ConstantScore,
    DotScore,
    GaussianScore,
    ScaledDotScore,
    Score,
)

ENTRY_POINT_GROUP = "seq2seq.scores"


@runtime_checkable
class ScoreFactory(Protocol):
    """What a name stands for. The arguments are passed by keyword; sizes may go unused."""

    def __call__(self, query_size: int, key_size: int, hidden_size: int | None) -> Score:
        """A new score."""


def score_names() -> list[str]:
    """Every name `build_score` knows, sorted. Imports no other package."""
    return sorted(_BUILT_IN.keys() | metadata.entry_points(group=ENTRY_POINT_GROUP).names)


def require_score(name: str) -> None:
    """Check that `build_score` knows a name. Imports no other package.

    Raises:
        ValueError: the name is unknown; the message has the nearest ones.
    """
    if name not in score_names():
        raise ValueError(_unknown_name(name))


def build_score(name: str, *, query_size: int, key_size: int, hidden_size: int | None) -> Score:
    """A new score.

    Args:
        name: one of `score_names()`. A built-in name cannot be taken by another package.
        query_size: size of a query.
        key_size: size of a key; scores with `needs_equal_sizes` expect that of the query later.
        hidden_size: attention size A, for the scores that have one; None for the others.

    Raises:
        ValueError: the name is unknown; the message has the nearest ones.
        ImportError: the package that offers the name cannot be imported.
        TypeError: what the package offers is no `Score`.
    """
    factory = _BUILT_IN.get(name) or _load_factory(name)
    score = factory(query_size=query_size, key_size=key_size, hidden_size=hidden_size)
    if not isinstance(score, Score):
        raise TypeError(f"score {name!r} is a {type(score).__name__} without {_missing(score)}")
    return score


def _load_factory(name: str) -> ScoreFactory:
    for entry_point in metadata.entry_points(group=ENTRY_POINT_GROUP, name=name):
        return _import_factory(entry_point)
    raise ValueError(_unknown_name(name))


def _import_factory(entry_point: metadata.EntryPoint) -> ScoreFactory:
    try:
        return entry_point.load()
    except Exception as error:  # another package's code may fail in any way
        package = entry_point.dist.name if entry_point.dist else entry_point.module
        raise ImportError(
            f"score {entry_point.name!r} of the package {package!r} cannot be imported from "
            f"{entry_point.value!r}: {error}"
        ) from error


def _unknown_name(name: str) -> str:
    names = score_names()
    nearest = " or ".join(repr(near) for near in difflib.get_close_matches(name, names))
    question = f", did you mean {nearest}?" if nearest else ";"
    return f"unknown score {name!r}{question} known scores: {', '.join(names)}"


def _missing(score: object) -> str:
    members = ("needs_equal_sizes", "project_keys", "__call__")
    return ", ".join(member for member in members if not hasattr(score, member))


def _additive(query_size: int, key_size: int, hidden_size: int | None) -> Score:
    return AdditiveScore(query_size, key_size, hidden_size=hidden_size)


def _scaled_dot(query_size: int, key_size: int, hidden_size: int | None) -> Score:  # noqa: ARG001
    return ScaledDotScore()


def _dot(query_size: int, key_size: int, hidden_size: int | None) -> Score:  # noqa: ARG001
    return DotScore()


def _bilinear(query_size: int, key_size: int, hidden_size: int | None) -> Score:  # noqa: ARG001
    return BilinearScore(query_size, key_size)


def _gaussian(query_size: int, key_size: int, hidden_size: int | None) -> Score:  # noqa: ARG001
    """Distances grow with the size: the width does too, so that weights start out spread."""
    return GaussianScore(1 / math.sqrt(query_size), learnable=True)


def _average(query_size: int, key_size: int, hidden_size: int | None) -> Score:  # noqa: ARG001
    return ConstantScore()


_BUILT_IN: dict[str, ScoreFactory] = {
    "additive": _additive,
    "scaled_dot": _scaled_dot,
    "dot": _dot,
    "bilinear": _bilinear,
    "gaussian": _gaussian,
    "average": _average,
}
