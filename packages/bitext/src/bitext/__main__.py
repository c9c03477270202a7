"""The command line: python -m bitext convert app.po pairs.tsv"""

import argparse
import csv
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from bitext import Columns, FormatError, Pair, read, read_two

OPTIONS = {
    "source_language": "code of the source, such as en or pt-BR; not needed where the file has two languages",
    "target_language": "code of the target",
    "source_column": "name of the column of the source in a table or in records, or its number from 1",
    "target_column": "the same of the target",
}


def write(pairs: Iterable[Pair], file: IO[str], suffix: str) -> None:
    """Write pairs as JSON lines, CSV or, by any other suffix, a line with a tab for each."""
    table = csv.writer(file)
    for source, target, _ in pairs:
        if suffix == ".jsonl":
            print(json.dumps({"source": source, "target": target}, ensure_ascii=False), file=file)
        elif suffix == ".csv":
            table.writerow([source, target])
        else:
            print(" ".join(source.split()), " ".join(target.split()), sep="\t", file=file)


def main() -> None:
    """Convert what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m bitext", description="Pairs of sentences from bilingual files."
    )
    convert = parser.add_subparsers(required=True).add_parser(
        "convert", help="write the pairs of a file, or of two, as a table"
    )
    convert.add_argument(
        "files", nargs="+", help="a file with both languages, or one of each, which may be compressed"
    )
    convert.add_argument("output", help="a new file: .tsv, .csv or .jsonl; - for standard output")
    for name, text in OPTIONS.items():
        convert.add_argument(f"--{name}", f"--{name.replace('_', '-')}", help=text)
    given = parser.parse_args()
    if len(given.files) > 2:
        parser.error("give one file with both languages, or one of each")
    try:
        columns = Columns(
            (given.source_language or "", given.target_language or ""), (given.source_column, given.target_column),
            prefix="--", say=lambda line: print(line, file=sys.stderr),
        )  # fmt: skip
        pairs = [*(read_two(*given.files) if len(given.files) == 2 else read(given.files[0], columns))]
        if given.output == "-":
            write(pairs, sys.stdout, "")
        else:
            with Path(given.output).open("x", encoding="utf-8", newline="") as file:
                write(pairs, file, Path(given.output).suffix)
            print(f"{given.output}: {len(pairs):,} pairs", file=sys.stderr)
    except (FormatError, OSError) as error:
        parser.exit(2, f"error: {error}\n")


if __name__ == "__main__":
    main()
