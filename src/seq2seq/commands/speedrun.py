"""The shortest training to a score: seq2seq speedrun data.root=FOLDER [key=value …]

Trains experiment=speedrun, with what the command line sets instead, on as many threads as
device.threads says. After every epoch the validation split is translated by beam search; at the
wanted BLEU (cased) training ends. Prints seconds and target tokens; the time of these translations
does not count. Results are kept in docs/speedrun.md.
"""

import argparse

from seq2seq.command_line.composing import composed
from seq2seq.command_line.printing import print_while_read
from seq2seq.command_line.program import program_parser, run_program
from seq2seq.errors import InputError
from seq2seq.own_files import CONF
from seq2seq.runs.run_folder import run_folder


def main() -> int:
    """Train and print; exit status 1 where the score is not reached."""
    parser = program_parser(__doc__)
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="as of seq2seq train")
    parser.add_argument("--bleu", type=float, default=33.0, help="where to stop (default: 33)")
    return run_program(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    print_while_read()
    overrides = ["experiment=speedrun", *arguments.overrides]
    config, _ = composed(CONF, overrides)
    folder = run_folder(config, arguments.overrides)
    if folder.exists():
        raise InputError(f"{folder} is there: a speedrun begins at the beginning, give name=…")
    from seq2seq.runs.speedrun import as_lines, speedrun  # noqa: PLC0415 - torch

    marks = speedrun(config, folder, overrides, bleu=arguments.bleu)
    print("\n".join(as_lines(marks, bleu=arguments.bleu)))
    return 0 if marks[-1].bleu >= arguments.bleu else 1
