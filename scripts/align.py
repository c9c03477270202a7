"""Align words: python scripts/align.py MODEL_OR_RUN_DIR --source FILE --target FILE > links.txt

Prints a line of links SOURCE-TARGET for each pair (Pharaoh format), words counted from 0 and
separated by white space, from the attention of the model while it is forced to give the target.
With --gold the alignment error rate goes to standard error.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.application.program import program_parser, run_program
from seq2seq.errors import InputError

if TYPE_CHECKING:
    from seq2seq.evaluation.alignment import GoldAlignment, Links
    from seq2seq.text.corpus import SentencePair

METHODS = ("argmax", "threshold", "intersection", "union")


def main() -> int:
    """Print the alignment of two files."""
    return run_program(_parser(), _align)


def _parser() -> argparse.ArgumentParser:
    parser = program_parser(__doc__)
    parser.add_argument("model", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--source", type=Path, required=True, help="text, plain or .gz")
    parser.add_argument("--target", type=Path, required=True, help="its translation")
    parser.add_argument("--gold", type=Path, help="links in Pharaoh format; possible ones as i?j")
    parser.add_argument("--reverse", type=Path, metavar="MODEL", help="a model target -> source")
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="argmax",
        help="argmax: the most attended source word of each target word; threshold: all with a "
        "weight of --threshold; intersection, union: argmax of both models (default: argmax)",
    )
    parser.add_argument("--threshold", type=float, default=0.4, help="of a weight (default: 0.4)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    parser.add_argument(
        "--batch-tokens", type=int, default=4096, metavar="N", help="padded batch size at most"
    )
    return parser


def _align(arguments: argparse.Namespace) -> int:
    if (arguments.reverse is not None) != (arguments.method in {"intersection", "union"}):
        raise InputError("--method intersection and union need --reverse MODEL, others take none")

    from seq2seq.text.corpus import read_parallel  # noqa: PLC0415 - after --help

    pairs = read_parallel(arguments.source, arguments.target)
    gold = None if arguments.gold is None else _gold(arguments.gold, pairs)
    links = _links(arguments, pairs)

    from seq2seq.evaluation.pharaoh import format_links  # noqa: PLC0415

    for pair_links in links:
        sys.stdout.write(f"{format_links(pair_links)}\n")
    sys.stdout.flush()
    if gold is not None:
        print(_report(links, gold), file=sys.stderr)
    return 0


def _gold(path: Path, pairs: "list[SentencePair]") -> "list[GoldAlignment]":
    from seq2seq.evaluation.pharaoh import read_pharaoh, require_within  # noqa: PLC0415

    gold = read_pharaoh(path)
    if len(gold) != len(pairs):
        raise InputError(f"{path} has {len(gold):,} lines for {len(pairs):,} sentence pairs")
    for number, (alignment, pair) in enumerate(zip(gold, pairs, strict=True), start=1):
        sizes = len(pair.source.split()), len(pair.target.split())
        require_within(alignment, *sizes, f"{path}, line {number}")
    return gold


def _links(arguments: argparse.Namespace, pairs: "list[SentencePair]") -> "list[Links]":
    from seq2seq.decoding.aligner import word_attention  # noqa: PLC0415 - torch, after the files
    from seq2seq.evaluation.alignment import (  # noqa: PLC0415
        Symmetrisation,
        argmax_links,
        reversed_links,
        symmetrised,
        threshold_links,
    )
    from seq2seq.text.corpus import SentencePair  # noqa: PLC0415

    options = {"device": arguments.device, "max_tokens": arguments.batch_tokens}
    weights = word_attention(arguments.model, pairs, **options)
    if arguments.method == "threshold":
        return [threshold_links(matrix, arguments.threshold) for matrix in weights]
    forward = [argmax_links(matrix) for matrix in weights]
    if arguments.method == "argmax":
        return forward
    swapped = [SentencePair(pair.target, pair.source) for pair in pairs]
    backward = map(argmax_links, word_attention(arguments.reverse, swapped, **options))
    method = Symmetrisation(arguments.method)
    return [
        symmetrised(links, reversed_links(other), method)
        for links, other in zip(forward, backward, strict=True)
    ]


def _report(links: "list[Links]", gold: "list[GoldAlignment]") -> str:
    from seq2seq.evaluation.alignment import AlignmentCounts  # noqa: PLC0415

    counts = AlignmentCounts()
    for pair_links, alignment in zip(links, gold, strict=True):
        counts += AlignmentCounts.of(pair_links, alignment)
    return (
        f"AER {counts.error_rate:.3f}   precision {counts.precision:.3f}   "
        f"recall {counts.recall:.3f}   ({len(gold):,} sentence pairs)"
    )


if __name__ == "__main__":
    sys.exit(main())
