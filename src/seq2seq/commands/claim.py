"""Test claims about attention: seq2seq claim length

Runs or continues the sweep of each claim that is named (sweep=claims/NAME; all: of every one), and
says whether it shows what was written down before its first run. Finished runs that were brought
from elsewhere are judged as they are. Without a name the page alone is written anew.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from seq2seq.command_line.program import program_parser, run_program, writing
from seq2seq.own_files import CLONE
from seq2seq.plain_text import one_line

if TYPE_CHECKING:
    from seq2seq.claims.result import Result


PLACES = ("data.root", "data.links", "data.validation_links")
"""Of a corpus: what a file cannot know."""


def main() -> int:
    """Judge and print."""
    parser = program_parser(__doc__)
    add = parser.add_argument
    add("claims", nargs="*", metavar="NAME", help="such as length; all")
    add(
        "--set",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="runs_dir=…, sweep.jobs=… or data.root=…",
    )
    add("--judge", action="store_true", help="train nothing: judge the runs that are there")
    add(
        "--output",
        type=Path,
        metavar="FOLDER",
        default=Path() if CLONE is None else CLONE / "docs",
        help="where claims.md and claims/ are (default: docs/ of a clone)",
    )
    return run_program(parser, _claims)


def _claims(arguments: argparse.Namespace) -> int:
    from seq2seq.claims.arms import UnfinishedError  # noqa: PLC0415
    from seq2seq.claims.page import FOLDER, write_page  # noqa: PLC0415 - after --help
    from seq2seq.claims.result import claim_names, keep  # noqa: PLC0415

    refuse_changes(arguments.set)
    is_all, status = arguments.claims == ["all"], 0
    for name in claim_names() if is_all else arguments.claims:
        try:
            result, picture = _tested(name, arguments.set, may_train=not arguments.judge)
        except UnfinishedError as error:
            if not is_all:
                raise
            print(one_line(f"{name:<26}no verdict: {error}"))
            status = 1
            continue
        with writing(arguments.output, "--output"):
            keep(result, picture, arguments.output / FOLDER)
        print(one_line(f"{name:<26}{result.verdict.value}"))
        for each in result.found:
            print(one_line(f"  {each.words()}"))
    with writing(arguments.output, "--output"):
        print(one_line(f"{'written':<12}{write_page(arguments.output)}"))
    return status


def refuse_changes(overrides: list[str]) -> None:
    """A claim is tested as it stands.

    Raises:
        InputError: an override would change its runs.
    """
    from seq2seq.errors import InputError  # noqa: PLC0415

    of_sweep = ("runs_dir", "sweep.jobs", "sweep.time_budget", "sweep.retry_failed", "sweep.keep")
    allowed = (*of_sweep, *PLACES)
    for each in overrides:
        if each.partition("=")[0] not in allowed:
            raise InputError(
                f"{each}: a claim is tested as its file says, but for {', '.join(allowed)}; "
                "copy the file to change it"
            )


def _tested(name: str, overrides: list[str], *, may_train: bool) -> "tuple[Result, bytes]":
    from seq2seq.claims.arms import UnfinishedError  # noqa: PLC0415
    from seq2seq.claims.result import configured, judged  # noqa: PLC0415

    of_sweep = [each for each in overrides if each.partition("=")[0] not in PLACES]
    config = configured(name, of_sweep)
    try:
        return judged(name, config)
    except UnfinishedError:
        if not may_train:
            raise
    command = [sys.executable, "-P", "-m", "seq2seq.commands", "train", "-m"]
    subprocess.run([*command, f"sweep=claims/{name}", *overrides], check=False)
    return judged(name, config)
