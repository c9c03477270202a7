"""Scores by name, those of other packages included, see `seq2seq.registry`."""

import math
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
from seq2seq.registry import Registry


@runtime_checkable
class ScoreFactory(Protocol):
    """What a name stands for. The arguments are passed by keyword; sizes may go unused."""

    def __call__(self, query_size: int, key_size: int, hidden_size: int | None) -> Score:
        """A new score."""


def build_score(name: str, *, query_size: int, key_size: int, hidden_size: int | None) -> Score:
    """A new score.

    Args:
        name: one of `SCORES`.
        query_size: size of a query.
        key_size: size of a key; scores with `needs_equal_sizes` expect that of the query later.
        hidden_size: attention size A, for the scores that have one; None for the others.

    Raises:
        ValueError: the name is unknown; the message has the nearest ones.
        ImportError: the package that brings the score cannot be imported.
        TypeError: what the package brings is no `Score`.
    """
    score = SCORES[name](query_size=query_size, key_size=key_size, hidden_size=hidden_size)
    if not isinstance(score, Score):
        raise TypeError(f"score {name!r} is a {type(score).__name__} without {_missing(score)}")
    return score


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


SCORES: Registry[ScoreFactory] = Registry(
    "score",
    {
        "additive": _additive,
        "average": _average,
        "bilinear": _bilinear,
        "dot": _dot,
        "gaussian": _gaussian,
        "scaled_dot": _scaled_dot,
    },
    ScoreFactory,
)
