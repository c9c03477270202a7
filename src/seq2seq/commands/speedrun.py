"""The shortest training to a score: seq2seq speedrun data.root=FOLDER [key=value …]

Trains experiment=speedrun, with what the command line sets instead, on as many threads as
device.threads says. After every epoch the validation split is translated by beam search; at the
wanted BLEU (cased) training ends. Prints seconds and target tokens; the time of these translations
does not count. Results are kept in docs/speedrun.md; --verify trains a row of it again, with the
seeds 1, 2 and 3, each of which has to reach the score.
"""

import argparse
from statistics import mean
from typing import TYPE_CHECKING

from seq2seq.command_line.composing import composed
from seq2seq.command_line.printing import print_while_read
from seq2seq.command_line.program import program_parser, run_program
from seq2seq.errors import InputError
from seq2seq.own_files import CONF
from seq2seq.runs.run_folder import run_folder

if TYPE_CHECKING:
    from seq2seq.runs.speedrun import Mark

SEEDS = (1, 2, 3)


def main() -> int:
    """Train and print; exit status 1 where the score is not reached."""
    parser = program_parser(__doc__)
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="as of seq2seq train")
    parser.add_argument("--verify", metavar="ROW", help="an experiment of docs/speedrun.md")
    parser.add_argument("--bleu", type=float, default=33.0, help="where to stop (default: 33)")
    return run_program(parser, _run)


def _run(arguments: argparse.Namespace) -> int:
    print_while_read()
    own = arguments.overrides
    if arguments.verify is None:
        lasts = [_last(["experiment=speedrun"], own, arguments.bleu)]
    else:
        row = [f"experiment={arguments.verify}"]
        runs = ([*own, f"seed={seed}", f"name=verify_{seed}"] for seed in SEEDS)
        lasts = [_last(row, each, arguments.bleu) for each in runs]
        print(_mean(lasts))
    return 0 if all(last.bleu >= arguments.bleu for last in lasts) else 1


def _last(chosen: list[str], overrides: list[str], bleu: float) -> "Mark":
    """Train, print, and return where the training ended."""
    config, _ = composed(CONF, [*chosen, *overrides])
    folder = run_folder(config, overrides)
    if folder.exists():
        raise InputError(f"{folder} is there: a speedrun begins at the beginning, give name=…")
    from seq2seq.runs.speedrun import as_lines, speedrun  # noqa: PLC0415 - torch

    marks = speedrun(config, folder, [*chosen, *overrides], bleu=bleu)
    print("\n".join(as_lines(marks, bleu=bleu)))
    return marks[-1]


def _mean(lasts: list["Mark"]) -> str:
    seconds, num_tokens, bleu = (
        mean(getattr(last, name) for last in lasts) for name in ("seconds", "num_tokens", "bleu")
    )
    return f"mean        {seconds:,.0f} s   {num_tokens:,.0f} target tokens   BLEU {bleu:.2f}"
