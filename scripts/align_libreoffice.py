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
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from seq2seq.data import LibreOfficeHelp
from seq2seq.data.languages import is_unspaced
from seq2seq.data.text import SentencePair
from seq2seq.data.words import lowered, split_words
from seq2seq.errors import InputError
from seq2seq.evaluation.alignment import Links, read_pharaoh
from seq2seq.run.messages import exit_on_error

FOLDER = "data/cache/libreoffice"


def main() -> None:
    """Write the links of all splits."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("language", help="the other language, such as de")
    parser.add_argument("--folder", type=Path, default=Path(FOLDER), help=f"default: {FOLDER}")
    options = parser.parse_args()
    if is_unspaced(options.language):
        raise InputError(
            f"{options.language} is written without spaces, and links in Pharaoh format count words between spaces"
        )
    corpus = LibreOfficeHelp(root=str(options.folder), source_language="en", target_language=options.language)
    splits = corpus.read()
    pairs = [*splits.train, *splits.validation, *splits.test]
    lines = (in_text(*each) for each in zip(*aligned(pairs, options.language), pairs, strict=True))
    for name, split in (("train", splits.train), ("validation", splits.validation), ("test", splits.test)):
        target = corpus.file.with_suffix(f".{name}.links")
        target.write_text("".join(f"{line}\n" for line in islice(lines, len(split))))
        print(f"{target}: {len(split):,} pairs")


def aligned(pairs: Sequence[SentencePair], language: str) -> tuple[list[Links], list[Links]]:
    """Return the links between the words of all pairs, found from the target's side and from the source's side.

    Raises:
        InputError: eflomal is not installed.
    """
    try:
        from eflomal import Aligner
    except ImportError as error:
        raise InputError("the aligner is missing: pip install eflomal") from error
    sides = [
        [" ".join(split_words(lowered(text, code))) for text in texts]
        for code, texts in (
            ("en", [pair.source for pair in pairs]),
            (language, [pair.target for pair in pairs]),
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        forward, backward = (str(Path(folder) / name) for name in ("forward", "backward"))
        print(f"Aligning {len(pairs):,} pairs (a minute or two)", file=sys.stderr, flush=True)
        Aligner().align(*sides, links_filename_fwd=forward, links_filename_rev=backward)
        found = [[gold.possible for gold in read_pharaoh(path)] for path in (forward, backward)]
    return found[0], found[1]


def in_text(forward: Links, backward: Links, pair: SentencePair) -> str:
    """Return links of words in Pharaoh format, counted by the white space of the text."""
    sides = [
        [place for place, word in enumerate(text.split()) for _ in split_words(word)]
        for text in (pair.source, pair.target)
    ]
    sure, every = (
        frozenset((sides[0][i], sides[1][j]) for i, j in links)
        for links in (forward & backward, forward | backward)
    )
    return " ".join(f"{i}-{j}" if (i, j) in sure else f"{i}?{j}" for i, j in sorted(every))


if __name__ == "__main__":
    with exit_on_error():
        main()
