"""Repeat a run bit for bit on the CPU: seq2seq rerun runs/baseline/default

Takes the configuration and the number of threads from the run's folder, trains in another folder,
and compares weights, translations and metrics. Exit status 1 if anything differs.
"""

import argparse
from pathlib import Path

from seq2seq.command_line.printing import print_while_read
from seq2seq.command_line.program import program_parser, run_program


def main() -> int:
    """Train again and compare."""
    parser = program_parser(__doc__)
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="of the new run (default: beside the folder of the experiment, reruns/NAME)",
    )
    return run_program(parser, _rerun)


def _rerun(arguments: argparse.Namespace) -> int:
    from seq2seq.runs.rerun import rerun  # noqa: PLC0415 - after --help

    print_while_read()
    run_dir = arguments.run.resolve()
    output = arguments.output or run_dir.parent.parent / "reruns" / run_dir.name
    different = rerun(run_dir, output)
    for name in different:
        print(f"{'differs':<12}{name}")
    if not different:
        print(f"{'identical':<12}weights, translations and metrics of {run_dir} and {output}")
    return int(bool(different))
