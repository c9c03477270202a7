"""A model for other programs, as ONNX: seq2seq export-onnx RUN_OR_MODEL -o FOLDER

encoder.onnx, step.onnx (one step of the decoder) and vocabulary.json, for any batch and length:
docs/onnx.md has a search with them in numpy.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

from seq2seq.command_line.program import program_parser, run_program, writing
from seq2seq.errors import InputError


def main() -> int:
    """Read the model, and write the folder."""
    parser = program_parser(__doc__)
    parser.add_argument("folder", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the new files' folder")
    return run_program(parser, _export)


def _export(arguments: argparse.Namespace) -> int:
    if find_spec("onnx") is None:
        raise InputError("this needs the package onnx: pip install 'seq2seq-attention[onnx]'")
    from seq2seq.decoding.onnx_export import export_onnx  # noqa: PLC0415 - loads torch

    with writing(arguments.output, "-o"):
        export_onnx(arguments.folder, arguments.output)
    return 0
