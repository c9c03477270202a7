"""A page that translates: seq2seq export-page RUN_OR_MODEL -o page.html

One HTML file with the model in it, in eight bits a weight, and the viewer of the Attention tab. It
opens from disk and asks no server: what one types is translated there, and its attention shows.
"""

import argparse
from pathlib import Path

from seq2seq.command_line.program import program_parser, refuse_same_file, run_program, write_page
from seq2seq.decoding.model_files import files_of_models


def main() -> int:
    """Read the model, and write the page."""
    parser = program_parser(__doc__)
    parser.add_argument("folder", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--sentence", default="", help="what it translates when it is opened")
    parser.add_argument("-o", "--output", type=Path, default=Path("page.html"), help="the page")
    return run_program(parser, _export)


def _export(arguments: argparse.Namespace) -> int:
    from seq2seq.tensorboard.translating_page import export_page  # noqa: PLC0415 - loads torch

    output = arguments.output
    refuse_same_file(files_of_models(arguments.folder), {"-o": output})
    write_page(export_page(arguments.folder, arguments.sentence), output)
    return 0
