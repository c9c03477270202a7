"""Put a model's attention into TensorBoard: seq2seq log-attention MODEL --input FILE

Translates the lines of a file, by greedy and by beam search, and records the attention of each for
the Attention tab; with --target FILE also that of the model while it is forced to give these
translations. Then tensorboard --logdir DIR shows it.
"""

import argparse
from pathlib import Path

from seq2seq.command_line.program import program_parser, run_program
from seq2seq.errors import InputError


def main() -> int:
    """Translate and record."""
    parser = program_parser(__doc__)
    parser.add_argument("model", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--input", type=Path, required=True, help="text file, one sentence a line")
    parser.add_argument("--target", type=Path, help="its translation, line by line, to be forced")
    parser.add_argument(
        "--beam", type=int, default=5, metavar="K", help="hypotheses; 1: greedy alone (default: 5)"
    )
    parser.add_argument(
        "--logdir",
        type=Path,
        default=Path("runs/attention"),
        help="folder to write to (default: runs/attention)",
    )
    parser.add_argument("--step", type=int, default=0, help="the step to record it at (default: 0)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    return run_program(parser, _log)


def _log(arguments: argparse.Namespace) -> int:
    if arguments.step < 0:
        raise InputError(f"--step {arguments.step} is none: count steps from 0")
    from seq2seq.text.corpus import read_sources  # noqa: PLC0415 - nothing heavy before --help

    pairs = read_sources(arguments.input, arguments.target)
    from seq2seq.tensorboard.log_translations import log_translations  # noqa: PLC0415 - torch

    count = log_translations(
        arguments.logdir,
        arguments.model,
        pairs,
        step=arguments.step,
        beam=arguments.beam,
        device=arguments.device,
    )
    print(f"{count} sentences recorded")
    print(f"look        tensorboard --logdir {arguments.logdir}")
    return 0
