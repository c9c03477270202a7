"""Compare runs: python scripts/compare_runs.py runs/baseline

Groups the finished runs among the folders by everything but the seed, and says which differences
are significant. Writes the table as Markdown and CSV, learning curves, parallel coordinates, and a
page with all of it.
"""

import argparse
import sys
from pathlib import Path

from seq2seq.errors import InputError


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+", help="run folders, or folders of them")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where to write (default: comparison/ in the first of the folders)",
    )
    arguments = parser.parse_args()
    try:
        return _compare(arguments.runs, arguments.output or arguments.runs[0] / "comparison")
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as head, has enough; all files are written
        sys.stderr.close()
        return 0


def _compare(runs: list[Path], output: Path) -> int:
    from seq2seq.application.comparison import compare_runs, write_report  # noqa: PLC0415
    from seq2seq.experiments.report import print_rows  # noqa: PLC0415 - after --help

    report = compare_runs(runs)
    paths = write_report(report, output)
    print_rows(report.rows, report.notes)
    for path in paths:
        print(f"{'written':<12}{path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
