"""The name that was meant."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that was meant by another; None where none is like it.

    First those that differ in upper and lower case or by one slip, see `is_slip`, then the most similar one by difflib.

    Args:
        name: What was written.
        known: The names that there are.
        cutoff: Minimum similarity of the most similar one, 0 to 1.
    """
    known = list(known)
    slips = [each for each in known if is_slip(name.lower(), each.lower())]
    slips.sort(key=lambda each: sorted(each.lower()) != sorted(name.lower()))  # exchanged letters first
    return next(iter(slips or difflib.get_close_matches(name, known, n=1, cutoff=cutoff)), None)


def is_slip(first: str, second: str) -> bool:
    """Return whether one typing error makes a text of another: two neighbors exchanged, or a letter more, less or changed.

    Of texts of one or two letters, only the first counts.
    """
    shortest = min(len(first), len(second))
    start = next((place for place in range(shortest) if first[place] != second[place]), shortest)
    first, second = first[start:], second[start:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    if first == second[::-1] and len(first) in (0, 2):
        return True
    return shortest > 2 and len(first) < 2 and len(second) < 2
