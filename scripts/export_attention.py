"""Attention as one HTML file: python scripts/export_attention.py RUN_OR_MODEL -o page.html

The page is the Attention tab with its data inside; it opens from disk and asks no server. Of a run
folder (or a folder of runs) it holds what training recorded; with --input FILE a model translates
the lines of a file, and the page holds the attention of that.
"""

import argparse
import sys
from pathlib import Path

from seq2seq.application.program import program_parser, run_program, writing


def main() -> int:
    """Read or translate, and write the page."""
    parser = program_parser(__doc__)
    parser.add_argument("folder", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--input", type=Path, help="text file to translate, one sentence a line")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("attention.html"), help="the page"
    )
    return run_program(parser, _export)


def _export(arguments: argparse.Namespace) -> int:
    from seq2seq.tensorboard.export import export_run, export_translations  # noqa: PLC0415 - late

    folder, source, output = arguments.folder, arguments.input, arguments.output
    content = export_run(folder) if source is None else export_translations(folder, source)
    with writing(output, "-o"):
        output.write_text(content, encoding="utf-8")
    print(f"{output}  {output.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
