"""Compare runs: seq2seq compare runs/baseline

Groups the finished runs among the folders by everything but the seed, and says which differences
are significant, and how each does on short and long sentences. Writes tables as Markdown and CSV,
learning curves, BLEU by length, parallel coordinates, and a page with all of it.
"""

import argparse
from pathlib import Path

from seq2seq.command_line.program import program_parser, run_program, writing
from seq2seq.plain_text import one_line
from seq2seq.storage.writing import inside


def main() -> int:
    """Compare and print."""
    parser = program_parser(__doc__)
    parser.add_argument("runs", type=Path, nargs="+", help="run folders, or folders of them")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where to write (default: comparison/ in the first of the folders)",
    )
    return run_program(parser, _compare)


def _compare(arguments: argparse.Namespace) -> int:
    from seq2seq.experiments.report import print_rows  # noqa: PLC0415 - after --help
    from seq2seq.sweeps.comparison import compare_runs, write_report  # noqa: PLC0415

    report = compare_runs(arguments.runs)
    folder = arguments.output or inside(arguments.runs[0], "comparison")
    with writing(folder, "--output"):
        paths = write_report(report, folder)
    *others, last = report.tables()
    for rows in others:
        print_rows(rows, [])
    print_rows(last, report.notes)
    for path in paths:
        print(one_line(f"{'written':<12}{path}"))
    return 0
