"""Attention as one HTML file: seq2seq export-attention RUN_OR_MODEL -o page.html

The page is the Attention tab with its data inside; it opens from disk and asks no server. Of a run
folder (or a folder of runs) it holds what training recorded; with --input FILE a model translates
the lines of a file, and the page holds the attention of that, as seq2seq log-attention records
it.
"""

import argparse
from pathlib import Path

from seq2seq.command_line.program import program_parser, refuse_same_file, run_program, write_page
from seq2seq.decoding.model_files import files_of_models
from seq2seq.errors import InputError


def main() -> int:
    """Read or translate, and write the page."""
    parser = program_parser(__doc__)
    parser.add_argument("folder", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--input", type=Path, help="text file to translate, one sentence a line")
    parser.add_argument("--target", type=Path, help="its translation, line by line, to be forced")
    parser.add_argument(
        "--beam", type=int, default=5, metavar="K", help="hypotheses; 1: greedy alone (default: 5)"
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("attention.html"), help="the page"
    )
    return run_program(parser, _export)


def _export(arguments: argparse.Namespace) -> int:
    if arguments.target is not None and arguments.input is None:
        raise InputError("--target is the translation of --input FILE: give that as well")
    output = arguments.output
    read = {"--input": arguments.input, "--target": arguments.target}
    refuse_same_file(read | files_of_models(arguments.folder), {"-o": output})
    for path in arguments.folder.glob("**/events.out.tfevents.*"):
        refuse_same_file({str(path): path}, {"-o": output})
    write_page(_page(arguments), output)
    return 0


def _page(arguments: argparse.Namespace) -> str:
    from seq2seq.tensorboard.export import export_run, export_translations  # noqa: PLC0415 - late

    if arguments.input is None:
        return export_run(arguments.folder)
    return export_translations(
        arguments.folder,
        arguments.input,
        arguments.target,
        beam=arguments.beam,
        device=arguments.device,
    )
