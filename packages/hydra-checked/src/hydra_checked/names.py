"""The name that was meant."""

import difflib
from collections.abc import Iterable
from os.path import commonprefix


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that was meant by another: first one slip away, then the most similar one; None without any.

    `cutoff` is the minimum similarity of the most similar one, 0 to 1.
    """
    known, lower = list(known), name.lower()
    slips = [each for each in known if _is_slip(lower, each.lower())]
    slips.sort(key=lambda each: sorted(each.lower()) != sorted(lower))  # exchanged letters first
    return next(iter(slips or difflib.get_close_matches(name, known, n=1, cutoff=cutoff)), None)


def _is_slip(first: str, second: str) -> bool:
    """Return whether two neighbors are exchanged; or, in more than two letters, one is more, less or another."""
    start = len(commonprefix([first, second]))  # noqa: RUF071 - of letters
    end = len(commonprefix([first[start:][::-1], second[start:][::-1]]))  # noqa: RUF071
    a, b = first[start : len(first) - end], second[start : len(second) - end]
    return (a == b[::-1] and len(a) in (0, 2)) or (
        min(len(first), len(second)) > 2 and max(len(a), len(b)) < 2
    )
