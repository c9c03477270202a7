"""Repeat a run bit for bit on the CPU: python scripts/rerun.py runs/baseline/default

Takes the configuration and the number of threads from the run's folder, trains in another folder,
and compares weights, translations and metrics. Exit status 1 if anything differs.
"""

import argparse
import sys
from pathlib import Path

from seq2seq.errors import InputError, TrainingInterrupted


def main() -> int:
    """Train again and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="of the new run (default: beside the folder of the experiment, reruns/NAME)",
    )
    arguments = parser.parse_args()
    run_dir = arguments.run.resolve()
    output = arguments.output or run_dir.parents[1] / "reruns" / run_dir.name
    try:
        return _rerun(run_dir, output)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except TrainingInterrupted as interruption:
        print(f"{interruption}; the same command continues", file=sys.stderr)
        return 128 + interruption.signal_number


def _rerun(run_dir: Path, output: Path) -> int:
    from seq2seq.application.rerun import rerun  # noqa: PLC0415 - after --help

    different = rerun(run_dir, output)
    for name in different:
        print(f"{'differs':<12}{name}")
    if not different:
        print(f"{'identical':<12}weights, translations and metrics of {run_dir} and {output}")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
