"""Attention in a terminal: a matrix of shades."""

import unicodedata
from collections.abc import Sequence

from joined_words import shown

SHADES = (0.7, "█"), (0.5, "▓"), (0.3, "▒"), (0.1, "░"), (0.0, " ")
"""Minimum weight of each shade."""
LEGEND = "weights: ░ from 0.1, ▒ from 0.3, ▓ from 0.5, █ from 0.7; rows are target tokens"


def shade(weight: float) -> str:
    """Return the character for a weight in 0..1."""
    return next(character for least, character in SHADES if weight >= least or not least)


def columns_of(text: str) -> int:
    """Return the number of columns of a terminal that a text takes."""
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def fitted(token: str, columns: int) -> str:
    """Return a token in so many columns: cut, or filled with spaces."""
    text = "".join(each if each.isprintable() else "?" for each in shown(token))
    if columns_of(text) > columns:
        while columns_of(text) >= columns and text:
            text = text[:-1]
        text += "…"
    return text + " " * (columns - columns_of(text))


def matrix_lines(
    weights: Sequence[Sequence[float]], source: Sequence[str], target: Sequence[str], width: int
) -> list[str]:
    """Return the lines of a matrix: source tokens above, a row for each target token.

    Args:
        weights: In 0..1 (target, source).
        source: Tokens of the columns.
        target: Tokens of the rows.
        width: Columns of the terminal. Where the tokens do not fit, columns become narrower, one column wide at least.
    """
    label = min(max(map(columns_of, target)), max(width // 4, 4))
    room = (width - label - 1) // max(len(source), 1)
    pitch = max(2, min(room, max(map(columns_of, source)) + 1))
    if pitch < 4:  # tokens from top to bottom
        words = [fitted(token, min(columns_of(token), 12)) for token in source]
        heads = [
            "".join(fitted(word[row : row + 1], pitch) for word in words)
            for row in range(max(map(len, words)))
        ]
    else:
        heads = ["".join(f"{fitted(token, pitch - 1)} " for token in source)]
    margin = " " * (label + 1)
    rows = [
        f"{fitted(token, label)} " + "".join(shade(weight) * (pitch - 1) + " " for weight in row)
        for token, row in zip(target, weights, strict=True)
    ]
    return [line.rstrip() for line in [*(margin + head for head in heads), *rows]]
