"""Align the words of the LibreOffice corpus with eflomal, for guided alignment and for the alignment error rate.

    pip install eflomal
    python scripts/get_libreoffice.py de
    python scripts/align_libreoffice.py de

Beside `en-de.tsv` it writes `en-de.train.links`, `en-de.validation.links` and `en-de.test.links` in Pharaoh format, which
`data.alignments` and `data.validation_alignments` read. LinkSet that the aligner finds in both directions are sure, those
of one direction are possible (`i?j`). Its sampling is random: two files differ in a few of a hundred links.

Östling and Tiedemann, "Efficient word alignment with Markov chain Monte Carlo", 2016.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from hydra_checked.program import exit_on_error
from joined_words import LinkSet, lowered, text_word_parts
from seq2seq.common.errors import InputError
from seq2seq.data import LibreOfficeHelp
from seq2seq.data.languages import base_language, is_unspaced
from seq2seq.data.text import SentencePair, read_links
from seq2seq.settings.application import APPLICATION

FOLDER = "data/cache/libreoffice"


def main() -> None:
    """Write the links of all splits."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("language", help="the other language, such as de")
    parser.add_argument("--folder", type=Path, default=Path(FOLDER), help=f"default: {FOLDER}")
    options = parser.parse_args()
    if is_unspaced(options.language) and base_language(options.language) not in {"zh", "ja"}:
        raise InputError(
            f"{options.language} is written without spaces, and links count words between spaces, or letters of zh and ja"
        )
    corpus = LibreOfficeHelp(root=str(options.folder), source_language="en", target_language=options.language)
    splits = corpus.read()
    pairs = [*splits.train, *splits.validation, *splits.test]
    lines = iter(in_text(*aligned(pairs, options.language), pairs))
    for name, split in (("train", splits.train), ("validation", splits.validation), ("test", splits.test)):
        target = corpus.file.with_suffix(f".{name}.links")
        target.write_text("".join(f"{line}\n" for line in islice(lines, len(split))))
        print(f"{target}: {len(split):,} pairs")


def aligned(pairs: Sequence[SentencePair], language: str) -> tuple[list[LinkSet], list[LinkSet]]:
    """Return the links between the words of all pairs, found from the target's side and from the source's side.

    Raises:
        InputError: eflomal is not installed.
    """
    try:
        from eflomal import Aligner
    except ImportError as error:
        raise InputError("the aligner is missing: pip install eflomal") from error
    sides = [
        [
            " ".join(lowered(part, code) for parts in words for part in parts)
            for words in text_word_parts(texts)
        ]
        for code, texts in (
            ("en", [pair.source for pair in pairs]),
            (language, [pair.target for pair in pairs]),
        )
    ]
    with tempfile.TemporaryDirectory() as folder:
        forward, backward = (str(Path(folder) / name) for name in ("forward", "backward"))
        print(f"Aligning {len(pairs):,} pairs (a minute or two)", file=sys.stderr, flush=True)
        Aligner().align(*sides, links_filename_fwd=forward, links_filename_rev=backward)
        found = [[frozenset(links) for links, _ in read_links(path)] for path in (forward, backward)]
    return found[0], found[1]


def in_text(forward: list[LinkSet], backward: list[LinkSet], pairs: Sequence[SentencePair]) -> list[str]:
    """Return links of words of `split_words` as lines in Pharaoh format, which counts the words of `text_words`."""
    sources, targets = (
        [[place for place, parts in enumerate(words) for _ in parts] for words in text_word_parts(texts)]
        for texts in ([pair.source for pair in pairs], [pair.target for pair in pairs])
    )
    lines = []
    for found, other, source, target in zip(forward, backward, sources, targets, strict=True):
        sure, every = ({(source[i], target[j]) for i, j in links} for links in (found & other, found | other))
        lines.append(" ".join(f"{i}-{j}" if (i, j) in sure else f"{i}?{j}" for i, j in sorted(every)))
    return lines


if __name__ == "__main__":
    with exit_on_error(APPLICATION):
        main()
