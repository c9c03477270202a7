"""The name that was meant, and the key."""

import difflib
import re
from collections.abc import Iterable, Sequence
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


def did_you_mean(name: str, known: Iterable[str], before: str = "") -> str:
    """Return the question whether another name was meant, with what stands before it; an empty text if none is like it."""
    meant = nearest(name, known)
    return f"did you mean {before}{meant}? " if meant else ""


def nearest_key(name: str, known: Sequence[str]) -> str | None:
    """Return the key that was meant by another: like the whole of it, or its last part; or the keys beside it."""
    prefix, _, last = name.rpartition(".")
    if slip := nearest(name, known, cutoff=1):
        return slip
    known = [key for key in known if key.startswith("hydra") == name.startswith("hydra")]
    node = rf"(.*\.)?{re.escape(prefix)}\." if prefix else ""  # decoder.lr is beside model.decoder.dropout
    beside = {key.rpartition(".")[2]: key for key in known if re.fullmatch(rf"{node}[^._][^.]*", key)}
    anywhere = {key.rpartition(".")[2]: key for key in sorted(known, key=lambda key: -key.count("."))}
    within = [key for key in known if prefix and f".{prefix}." in f".{key}" and key.endswith(f".{last}")]
    if last in beside or within:
        return beside.get(last) or min(within, key=lambda key: key.count("."))
    if last in anywhere:
        same = [
            key
            for key in known
            if key.rpartition(".")[2] == last and key.count(".") == anywhere[last].count(".")
        ]
        return " or ".join(sorted(same)[:3])
    for keys, cutoff in ((beside, 0.6), (anywhere, 0.75)):
        if found := nearest(last, keys, cutoff):
            return keys[found]
    nodes = {key.rpartition(".")[0] for key in known}
    if prefix not in ("", *known) and (near := nearest(prefix, sorted(nodes))):
        return f"{near}.{last}"
    few = [*beside.values()][:12] if prefix else []
    return f"one of {', '.join(few)}" if few[1:] else "".join(few) or None
