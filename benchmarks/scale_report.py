"""The figures of `scale` as a table."""

from collections.abc import Callable, Sequence
from typing import Any

MEBIBYTE = 1 << 20


def _processor(found: dict[str, Any]) -> str:
    parts = (found[f"{part}_processor_seconds"] for part in ("sampling", "tokenizer", "encoding"))
    return " + ".join(f"{seconds:.1f}" for seconds in parts)


LINES: dict[str, Callable[[dict[str, Any]], str]] = {
    "pairs": lambda found: f"{found['pairs']:,}",
    "processes": lambda found: f"{found['processes']}",
    "text, MiB": lambda found: f"{found['text_bytes'] / MEBIBYTE:,.0f}",
    "store, MiB": lambda found: f"{found['store_bytes'] / MEBIBYTE:,.0f}",
    "reading for the tokenizer, s": lambda found: f"{found['sampling_seconds']:.1f}",
    "training the tokenizer, s": lambda found: f"{found['tokenizer_seconds']:.1f}",
    "tokenising into the store, s": lambda found: f"{found['encoding_seconds']:.1f}",
    "the three in processor time, s": _processor,
    "tokenising, pairs/s": lambda found: f"{found['pairs'] / found['encoding_seconds']:,.0f}",
    "library alone, pairs/s": lambda found: f"{found['library_pairs_per_second']:,.0f}",
    "share of the library's rate": lambda found: f"{found['share']:.0%}",
    "same, by processor time": lambda found: f"{found['processor_share']:.0%}",
    "peak memory of the build, MiB": lambda found: f"{found['peak_bytes'] / MEBIBYTE:,.0f}",
    "opening a warm store, s": lambda found: f"{found['open_seconds']:.2f}",
    "to the first batch, s": lambda found: f"{found['first_batch_seconds']:.2f}",
    "private memory, MiB": lambda found: f"{found['private_bytes'] / MEBIBYTE:,.0f}",
    "padding": lambda found: f"{found['padding_share']:.1%}",
    "loader, target tokens/s": lambda found: f"{found['loader_tokens_per_second']:,.0f}",
    "training, target tokens/s": lambda found: f"{found['training_tokens_per_second']:,.0f}",
    "loader over training": lambda found: f"{found['loader_over_training']:.0f} x",
}
"""What is printed of a measurement, from top to bottom."""


def scale_report(results: Sequence[dict[str, Any]]) -> str:
    """A column for each size of the corpus."""
    rows = [[name, *(text(found) for found in results)] for name, text in LINES.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(results) + 1)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
