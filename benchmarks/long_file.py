"""Measure translating a long file: python -m benchmarks.long_file MODEL --lines 200000

Makes the lines by the built-in grammar, translates them greedily and watches the memory, then kills
a second translation in the middle, resumes it, and compares.
"""

import argparse
import sys
from pathlib import Path

from seq2seq.command_line.program import program_parser, run_program


def main() -> int:
    """Measure and print; exit status 1 where the resumed output differs."""
    parser = program_parser(__doc__)
    parser.add_argument("model", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--lines", type=int, default=200_000, help="(default: 200,000)")
    return run_program(parser, _measure)


def _measure(arguments: argparse.Namespace) -> int:
    from benchmarks.translation_scale import measure_translation  # noqa: PLC0415

    cost = measure_translation(arguments.model, arguments.lines)
    print(cost.report())
    return 0 if cost.is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
