"""Attention as text, for a terminal."""

import unicodedata
from collections.abc import Sequence

SHADES = " ·░▒▓█"
"""From no weight to all of it, each a fifth."""


def draw_attention(
    weights: Sequence[Sequence[float]],
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    *,
    width: int,
) -> str:
    """Shaded cells under the source tokens, a line for each target token.

    Columns are as wide as their tokens; those beyond the width go into a block of their own below.
    """
    sources, targets = [_shown(t) for t in source_tokens], [_shown(t) for t in target_tokens]
    margin = max(map(_width, targets), default=0) + 1
    blocks = []
    for start, end in _blocks([_width(token) for token in sources], width - margin):
        head = " ".join(sources[start:end])
        lines = [f"{' ' * margin}{head}"]
        for token, row in zip(targets, weights, strict=True):
            cells = (_cell(row[place], _width(sources[place])) for place in range(start, end))
            lines.append(f"{_padded(token, margin)}{' '.join(cells)}".rstrip())
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _blocks(widths: Sequence[int], width: int) -> list[tuple[int, int]]:
    """Ranges of columns that fit side by side; a column that is too wide stands alone."""
    ranges, start, used = [], 0, 0
    for place, column in enumerate(widths):
        if place > start and used + column > width:
            ranges.append((start, place))
            start, used = place, 0
        used += column + 1
    return [*ranges, (start, len(widths))] if widths else []


def _cell(weight: float, width: int) -> str:
    # rounded up, so that a small weight can be told from none
    level = 0 if weight < 0.02 else min(int(weight * 5) + 1, 5)
    return SHADES[level] * width


def _shown(token: str) -> str:
    """Without signs that would move the cursor or take no column."""
    shown = "".join(sign if sign.isprintable() and _columns(sign) else "�" for sign in token)
    return shown or " "


def _columns(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def _width(text: str) -> int:
    return sum(map(_columns, text))


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
