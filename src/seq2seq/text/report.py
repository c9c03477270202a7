"""The short corpus report that is printed before training."""

from collections.abc import Mapping

from seq2seq.text.store import EncodedSentences, EncodedSplit, unknown_share

COLUMNS = ("split", "pairs", "dropped", "source tokens", "target tokens", "unknown")


def corpus_report(splits: Mapping[str, EncodedSplit]) -> str:
    """A table of the splits: pairs, dropped pairs, lengths (mean and maximum), unknown tokens."""
    rows = [COLUMNS, *(_row(name, split) for name, split in splits.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _row(name: str, split: EncodedSplit) -> tuple[str, ...]:
    return (
        name,
        f"{len(split):,}",
        _dropped(split),
        _lengths(split.source),
        _lengths(split.target),
        f"{unknown_share(split.source):.2%} / {unknown_share(split.target):.2%}",
    )


def _dropped(split: EncodedSplit) -> str:
    counts = {"blank": split.num_blank, "long": split.num_long}
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if count) or "0"


def _lengths(store: EncodedSentences) -> str:
    if not len(store):
        return "-"
    return f"mean {store.lengths.mean():.1f}, max {store.lengths.max()}"
