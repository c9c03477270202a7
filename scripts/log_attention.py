"""Put a model's attention into TensorBoard: python scripts/log_attention.py MODEL --input FILE

Translates the lines of a file and records the attention of each for the Attention tab; then
tensorboard --logdir DIR shows it.
"""

import argparse
import sys
from pathlib import Path

from seq2seq.application.program import program_parser, run_program


def main() -> int:
    """Translate and record."""
    parser = program_parser(__doc__)
    parser.add_argument("model", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--input", type=Path, required=True, help="text file, one sentence a line")
    parser.add_argument(
        "--logdir",
        type=Path,
        default=Path("runs/attention"),
        help="folder to write to (default: runs/attention)",
    )
    parser.add_argument("--step", type=int, default=0, help="the step to record it at (default: 0)")
    return run_program(parser, _log)


def _log(arguments: argparse.Namespace) -> int:
    from seq2seq.text.corpus import read_lines  # noqa: PLC0415 - nothing heavy before --help

    lines = read_lines(arguments.input)
    from seq2seq.tensorboard.log_translations import log_translations  # noqa: PLC0415 - torch

    count = log_translations(arguments.logdir, arguments.model, lines, step=arguments.step)
    print(f"{count} sentences recorded")
    print(f"look        tensorboard --logdir {arguments.logdir}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
