"""Write the sample files from the built-in corpus: python data/samples/make.py [-o FOLDER]

1,600 training, 200 validation and 200 test pairs, each of its own split of ``data/grammar/corpus.tsv.xz``, as
SPLIT.en and SPLIT.fr; all of them as pairs.tsv, in this order; ten test sources as sentences.txt.
"""

import argparse
import lzma
from pathlib import Path

SIZES = {"train": 1600, "validation": 200, "test": 200}
FOLDER = Path(__file__).parent


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, metavar="FOLDER")
    folder = parser.parse_args().output
    pairs: dict[str, list[list[str]]] = {split: [] for split in SIZES}
    with lzma.open(FOLDER.parent / "grammar" / "corpus.tsv.xz", "rt", encoding="utf-8") as corpus:
        for line in corpus:
            split, *sides = line.rstrip("\n").split("\t")[:3]
            if len(pairs[split]) < SIZES[split]:
                pairs[split].append(sides)
    files = {
        f"{split}.{language}": [pair[side] for pair in chosen]
        for split, chosen in pairs.items()
        for side, language in enumerate(("en", "fr"))
    }
    files["pairs.tsv"] = ["\t".join(pair) for chosen in pairs.values() for pair in chosen]
    files["sentences.txt"] = files["test.en"][:10]
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
