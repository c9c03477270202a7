"""The command line: python -m judged_seeds before.csv after.csv --metric val/loss --direction min"""

import argparse
import inspect
import sys

from judged_seeds import ResultError, compare_results


def main() -> None:
    """Judge what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m judged_seeds",
        description=inspect.getdoc(compare_results),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("baseline", metavar="BASELINE")
    parser.add_argument("candidate", metavar="CANDIDATE")
    parser.add_argument("--metric", required=True)
    parser.add_argument("--direction", required=True, choices=["min", "max"])
    parser.add_argument("--tries", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    try:
        sys.exit(compare_results(**vars(parser.parse_args())))
    except ResultError as error:
        parser.exit(2, f"error: {error}\n")


if __name__ == "__main__":
    main()
