"""Measure what large corpora cost: python -m benchmarks.large_corpus --pairs 100000 10000000

Makes a corpus by varying the sentences of the built-in grammar, or of two files, tokenises it into
a store, opens that again and reads batches from it; prints a table and removes everything. Ten
million pairs need about 4 GB of disk. docs/scale.md explains the figures.
"""

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from seq2seq.command_line.program import program_parser, run_program, write_figures
from seq2seq.errors import InputError
from seq2seq.grammar.grammar import load_grammar
from seq2seq.text.corpus import SentencePair, read_parallel

GRAMMAR = Path(__file__).resolve().parents[1] / "data" / "grammar"
GRAMMAR_PAIRS = 20_000
BYTES_PER_PAIR = 700
"""Of text and store together, generously."""


def main() -> int:
    """Measure, print, and write the figures."""
    return run_program(_parser(), _measure)


def _parser() -> argparse.ArgumentParser:
    parser = program_parser(__doc__)
    parser.add_argument("--pairs", nargs="+", type=int, default=[100_000, 1_000_000], metavar="N")
    parser.add_argument("--source", type=Path, help="vary this file's sentences instead")
    parser.add_argument("--target", type=Path, help="their translations")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()), help="where files are made"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    return parser


def _pairs(arguments: argparse.Namespace) -> list[SentencePair]:
    if (arguments.source is None) != (arguments.target is None):
        raise InputError("--source and --target: give both or neither")
    if min(arguments.pairs) < 1000:
        raise InputError("--pairs: give at least 1000")
    if arguments.source is not None:
        return read_parallel(arguments.source, arguments.target)
    return load_grammar(GRAMMAR).sample(GRAMMAR_PAIRS, 1, "train")


def _require_room(folder: Path, count: int) -> None:
    free, needed = shutil.disk_usage(folder).free, count * BYTES_PER_PAIR
    if free < needed:
        raise InputError(
            f"{folder} has {free / 1e9:.1f} GB of room, {count:,} pairs may need "
            f"{needed / 1e9:.1f}: give another --folder or fewer --pairs"
        )


def _measure(arguments: argparse.Namespace) -> int:
    # so that what was made is removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    pairs = _pairs(arguments)
    _require_room(arguments.folder, max(arguments.pairs))
    from benchmarks.scale import measure_scale  # noqa: PLC0415 - torch, after --help

    results = [measure_scale(arguments.folder, pairs, count) for count in arguments.pairs]
    for name in results[0]:
        print(f"{name:<36}" + "".join(f"{round(found[name], 3):>18,}" for found in results))
    write_figures(arguments.json, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
