"""Measure translating a long file: python scripts/benchmark_translation.py MODEL --lines 200000

Makes the lines by the built-in grammar, translates them greedily and watches the memory, then kills
a second translation in the middle, resumes it, and compares.
"""

import argparse
import sys
from pathlib import Path

from seq2seq.errors import InputError


def main() -> int:
    """Measure and print; exit status 1 where the resumed output differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--lines", type=int, default=200_000, help="(default: 200,000)")
    arguments = parser.parse_args()
    from seq2seq.benchmark.translation_scale import measure_translation  # noqa: PLC0415

    try:
        cost = measure_translation(arguments.model, arguments.lines)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(cost.report())
    return 0 if cost.is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
