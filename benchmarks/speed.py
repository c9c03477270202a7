"""Measure this project against a plain textbook decoder: python -m benchmarks.speed --quick

Training speed, the limit of the machine at the same shapes, memory and decoding speed, all in one
process and in turn. docs/benchmarks/cpu.md explains the figures.
"""

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.sizes import FULL, QUICK, Plan, Size
from seq2seq.command_line.program import program_parser, run_program, write_figures
from seq2seq.errors import InputError


def main() -> int:
    """Measure, print, and write the figures."""
    return run_program(_parser(), _measure)


def _parser() -> argparse.ArgumentParser:
    parser = program_parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="the main size alone, under a minute")
    parser.add_argument(
        "--sizes", nargs="+", metavar="SIZE", help="other sizes, like H512-L1bi-V32000-B64"
    )
    parser.add_argument(
        "--model", type=Path, metavar="RUN", help="measure the translations of a trained model"
    )
    parser.add_argument("--source", type=Path, metavar="FILE", help="text that it translates")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, help="CPU threads (default: torch's choice)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    return parser


def _plan(arguments: argparse.Namespace) -> Plan:
    if (arguments.model is None) != (arguments.source is None):
        raise InputError("--model and --source go together")
    plan = QUICK if arguments.quick else FULL
    if arguments.sizes is None:
        return plan
    return replace(plan, sizes=tuple(Size.parse(name) for name in arguments.sizes))


def _measure(arguments: argparse.Namespace) -> int:
    plan = _plan(arguments)

    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # torch's profiler says when it starts
    import torch  # noqa: PLC0415 - after --help

    from benchmarks.decoding import trained_speeds  # noqa: PLC0415
    from benchmarks.report import decoding_lines, report  # noqa: PLC0415
    from benchmarks.run import run_benchmark  # noqa: PLC0415
    from seq2seq.text.corpus import read_lines  # noqa: PLC0415

    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: this machine has none, choose cpu")
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    if arguments.model is None:
        results = run_benchmark(plan, torch.device(arguments.device))
        print(report(results))
    else:
        sentences = read_lines(arguments.source)
        speeds = trained_speeds(arguments.model, sentences, rounds=plan.other_rounds)
        print("\n".join(decoding_lines(speeds)))
        results = {"sentences_per_second": speeds}
    write_figures(arguments.json, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
