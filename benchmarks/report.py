"""The figures of a benchmark as text."""

from collections.abc import Iterator
from typing import Any

KINDS = {
    "shuffled": "random batches, padded to their longest sentence",
    "bucketed": "batches of sentences of like length",
}


def report(results: dict[str, Any]) -> str:
    """Tables for a person."""
    return "\n".join(
        [
            ", ".join(f"{name} {value}" for name, value in results["machine"].items()),
            *_training(results["training"]),
            "",
            *_memory(results["kept_bytes"]),
            "",
            *decoding_lines(results["sentences_per_second"]),
        ]
    )


def _training(training: dict[str, Any]) -> Iterator[str]:
    for size, kinds in training.items():
        for kind, measured in kinds.items():
            yield ""
            yield (
                f"training  {size}, {kind}: {KINDS[kind]} ({measured['padding_share']:.0%} padding)"
            )
            yield from _variants(measured)


def _variants(measured: dict[str, Any]) -> Iterator[str]:
    for name, speed in measured["tokens_per_second"].items():
        ratio = measured["ratios"].get(f"{name}_over_textbook")
        times = _spread(ratio, ".2f") + " x textbook" if ratio else ""
        yield f"  {name:<20} {speed['median']:>9,.0f} tokens/s   {times}".rstrip()
    for name, share in measured["product_limit_share"].items():
        yield f"  product limit {name}: reached to {_spread(share, '.0%')}"
    for name in ("fused_over_bare_gru_time", "fused_over_mean_time"):
        if name in measured:
            yield f"  {name}: {_spread(measured[name], '.2f')}"


def _spread(spread: dict[str, float], form: str) -> str:
    return f"{spread['median']:{form}} ({spread['low']:{form}} to {spread['high']:{form}})"


def _memory(kept: dict[str, int]) -> Iterator[str]:
    for name, count in kept.items():
        share = count / kept["textbook"]
        yield f"kept for backward  {name:<12} {count / 2**20:>8,.0f} MiB   {share:.2f} x textbook"


def decoding_lines(speeds: dict[str, float]) -> Iterator[str]:
    """The searches, untrained or of a trained model."""
    for name, speed in speeds.items():
        ratio = speed / speeds["textbook_greedy"]
        yield f"decoding  {name:<16} {speed:>7,.0f} sentences/s   {ratio:.1f} x textbook"
