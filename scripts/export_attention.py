"""Attention as one HTML file: python scripts/export_attention.py RUN_OR_MODEL -o page.html

The page is the Attention tab with its data inside; it opens from disk and asks no server. Of a run
folder (or a folder of runs) it holds what training recorded; with --input FILE a model translates
the lines of a file, and the page holds the attention of that.
"""

import argparse
import sys
from pathlib import Path

from seq2seq.errors import InputError


def main() -> int:
    """Read or translate, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--input", type=Path, help="text file to translate, one sentence a line")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("attention.html"), help="the page"
    )
    arguments = parser.parse_args()
    try:
        return _export(arguments.folder, arguments.input, arguments.output)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _export(folder: Path, source: Path | None, output: Path) -> int:
    from seq2seq.tensorboard.export import export_run, export_translations  # noqa: PLC0415 - late

    content = export_run(folder) if source is None else export_translations(folder, source)
    try:
        output.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{output} cannot be written ({error.strerror}): give another -o"
        ) from error
    print(f"{output}  {output.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
