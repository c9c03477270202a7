"""Two files of text: line n of one translates line n of the other."""

from collections.abc import Iterator
from itertools import zip_longest

from bitext.files import blank, has_text, lines
from bitext.pair import File, FormatError, Pair, counted


def read(source: File, target: File) -> Iterator[Pair]:
    """Yield the pairs; both files are read once, beside each other, so that they may be pipes.

    Raises:
        FormatError: A file cannot be read or has no text, or the two differ in their number of lines.
    """
    return paired((lines(source), lines(target)), (str(source), str(target)))


def paired(sides: tuple[Iterator[str], Iterator[str]], names: tuple[str, str]) -> Iterator[Pair]:
    """Yield the pairs of the lines of two files, whose names are for messages, as `read` does."""
    counts, filled = [0, 0], [False, False]
    for number, (source, target) in enumerate(zip_longest(*sides), start=1):
        for side, line in enumerate((source, target)):
            counts[side] += line is not None
            filled[side] = filled[side] or has_text(line or "")
        if source is not None and target is not None:
            yield Pair(source, target, number)
    for name, count, has_any in zip(names, counts, filled, strict=True):
        if not has_any:
            raise blank(name, count)
    if counts[0] != counts[1]:
        raise FormatError(
            f"{names[0]} has {counted(counts[0], 'line')} but {names[1]} has {counts[1]:,}: line n of one must translate "
            f"line n of the other; the first line without a partner is {min(counts) + 1}"
        )
