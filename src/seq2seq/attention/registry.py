"""Scores by name, those of other packages included, see `seq2seq.registry`."""

from seq2seq.attention.scores import SCORES, Score

__all__ = ["SCORES", "build_score"]


def build_score(name: str, *, query_size: int, key_size: int, hidden_size: int | None) -> Score:
    """A new score.

    Args:
        name: one of `SCORES`.
        query_size: size of a query.
        key_size: size of a key; scores with `needs_equal_sizes` expect that of the query later.
        hidden_size: attention size A, for the scores that have one; None for the others.

    Raises:
        ValueError: the name is unknown; the message has the nearest ones.
        ImportError: the package that brings the score cannot be imported, or fails.
        TypeError: what the package brings is no `Score`.
    """
    score = SCORES.made(name, query_size=query_size, key_size=key_size, hidden_size=hidden_size)
    if not isinstance(score, Score):
        raise TypeError(f"score {name!r} is a {type(score).__name__} without {_missing(score)}")
    return score


def _missing(score: object) -> str:
    members = ("needs_equal_sizes", "project_keys", "__call__")
    return ", ".join(member for member in members if not hasattr(score, member))
