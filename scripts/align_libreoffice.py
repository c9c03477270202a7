"""Align the words of the LibreOffice corpus with eflomal, for guided alignment and for the alignment error rate.

    pip install eflomal
    python scripts/get_libreoffice.py de
    python scripts/align_libreoffice.py de

Beside `en-de.tsv` it writes `en-de.train.links`, `en-de.validation.links` and `en-de.test.links` in Pharaoh format, which
`data.alignments` and `data.validation_alignments` read. Links that the aligner finds in both directions are sure, those
of one direction are possible (`i?j`). Its sampling is random: two files differ in a few of a hundred links.

Östling and Tiedemann, "Efficient word alignment with Markov chain Monte Carlo", 2016.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from seq2seq.data.text import read_lines
from seq2seq.data.words import lowered, split_words
from seq2seq.errors import InputError
from seq2seq.evaluation.alignment import Links, read_pharaoh

FOLDER = "data/cache/libreoffice"
SPLITS = "train", "validation", "test"


def main() -> None:
    """Write the links of all splits."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("language", help="the other language, such as de")
    parser.add_argument("--folder", type=Path, default=Path(FOLDER), help=f"default: {FOLDER}")
    options = parser.parse_args()
    file = options.folder / f"en-{options.language}.tsv"
    if not file.is_file():
        raise InputError(
            f"{file}: there is no such file; make it with: python scripts/get_libreoffice.py {options.language}"
        )
    rows = [line.split("\t") for line in read_lines(file)]
    links = [
        in_text(forward, backward, row[2], row[3])
        for forward, backward, row in zip(*aligned(rows, options.language), rows, strict=True)
    ]
    for split in SPLITS:
        lines = [line for line, row in zip(links, rows, strict=True) if row[0] == split]
        target = file.with_suffix(f".{split}.links")
        target.write_text("".join(f"{line}\n" for line in lines))
        print(f"{target}: {len(lines):,} pairs")


def aligned(rows: list[list[str]], language: str) -> tuple[list[Links], list[Links]]:
    """Return the links between the words of all pairs, found from the target's side and from the source's side.

    Raises:
        InputError: eflomal is not installed.
    """
    try:
        from eflomal import Aligner
    except ImportError as error:
        raise InputError("the aligner is missing: pip install eflomal") from error
    sides = [
        [" ".join(split_words(lowered(row[column], code))) for row in rows]
        for column, code in ((2, "en"), (3, language))
    ]
    with tempfile.TemporaryDirectory() as folder:
        forward, backward = (str(Path(folder) / name) for name in ("forward", "backward"))
        print(f"Aligning {len(rows):,} pairs (a minute or two)", file=sys.stderr, flush=True)
        Aligner().align(*sides, links_filename_fwd=forward, links_filename_rev=backward)
        return read_pharaoh_links(forward), read_pharaoh_links(backward)


def read_pharaoh_links(path: str) -> list[Links]:
    """Return the links of each line of a file."""
    return [gold.possible for gold in read_pharaoh(path)]


def in_text(forward: Links, backward: Links, source: str, target: str) -> str:
    """Return links of words in Pharaoh format, counted by the white space of the text."""
    sides = [
        [place for place, word in enumerate(text.split()) for _ in split_words(word)]
        for text in (source, target)
    ]
    sure, every = (
        frozenset((sides[0][i], sides[1][j]) for i, j in links)
        for links in (forward & backward, forward | backward)
    )
    return " ".join(f"{i}-{j}" if (i, j) in sure else f"{i}?{j}" for i, j in sorted(every))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"align_libreoffice.py: {error}")
