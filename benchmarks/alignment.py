"""Align with a model and with eflomal: python -m benchmarks.alignment RUN --eflomal eflomal-align

Without --source and --target the text is the test pairs of the built-in corpus, the training pairs
beside them for eflomal, and the alignment error rates are printed. With two files, where there is
no gold, each way is compared with eflomal's links: 1 - agreement is the AER against these.
eflomal is no part of this program: pip install eflomal, anywhere.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from seq2seq.command_line.program import program_parser, run_program
from seq2seq.errors import InputError
from seq2seq.evaluation.alignment import AlignmentCounts, GoldAlignment, Links
from seq2seq.evaluation.pharaoh import read_pharaoh
from seq2seq.grammar.grammar import load_grammar
from seq2seq.text.corpus import SentencePair, read_parallel
from seq2seq.text.words import split_words

GRAMMAR = Path(__file__).resolve().parents[1] / "data" / "grammar"
NUM_TEST, NUM_TRAIN = 1000, 20_000
"""Of the built-in corpus, as the default experiment has it."""
METHODS = ("agreement", "argmax")


def main() -> int:
    """Align, and print a line for each way."""
    return run_program(_parser(), _compare)


def _parser() -> argparse.ArgumentParser:
    parser = program_parser(__doc__)
    parser.add_argument("model", type=Path, help="a run folder, or an exported model/ folder")
    parser.add_argument("--eflomal", default="eflomal-align", help="its program eflomal-align")
    parser.add_argument("--source", type=Path, help="text, plain or .gz")
    parser.add_argument("--target", type=Path, help="its translation")
    parser.add_argument("--first", type=int, metavar="N", help="align the first N pairs alone")
    return parser


def _compare(arguments: argparse.Namespace) -> int:
    program = shutil.which(arguments.eflomal)
    if program is None and arguments.source is not None:
        raise InputError(f"there is no program {arguments.eflomal} to agree with: give --eflomal")
    pairs, beside = _pairs(arguments)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        ways = {method: _by_model(arguments.model, method, pairs, place) for method in METHODS}
        if program is not None:
            ways |= _by_eflomal(program, pairs, beside, place)
    if arguments.source is None:
        gold = [GoldAlignment.from_links(pair.alignment or (), pair.possible) for pair in pairs]
        print(f"AER, {len(pairs):,} test pairs of the built-in corpus")
    else:
        gold = [GoldAlignment(links, links) for links in ways["eflomal forward"]]
        print(f"1 - agreement with eflomal forward, {len(pairs):,} pairs")
    for way, links in ways.items():
        counts = sum(map(AlignmentCounts.of, links, gold), AlignmentCounts())
        print(f"  {way:<22} {counts.error_rate:.4f}")
    if program is None:
        print(f"  eflomal is left out: there is no program {arguments.eflomal}")
    return 0


def _pairs(arguments: argparse.Namespace) -> tuple[list[SentencePair], list[SentencePair]]:
    """The pairs to align, and those that eflomal reads beside them."""
    if (arguments.source is None) != (arguments.target is None):
        raise InputError("--source and --target: give both or neither")
    if arguments.source is not None:
        return read_parallel(arguments.source, arguments.target)[: arguments.first], []
    grammar = load_grammar(GRAMMAR)
    test, train = grammar.sample(NUM_TEST, 1, "test"), grammar.sample(NUM_TRAIN, 1, "train")
    return test[: arguments.first], train


def _by_model(model: Path, method: str, pairs: list[SentencePair], folder: Path) -> list[Links]:
    command = [sys.executable, "-m", "seq2seq.commands", "align", str(model), "--method", method]
    links = folder / "links"
    with links.open("wb") as output:
        done = subprocess.run(
            [*command, "--source", *_files(pairs, folder, "--target")], stdout=output, check=False
        )
    if done.returncode:
        raise InputError(f"seq2seq align ended with status {done.returncode}")
    return _read(links)


def _by_eflomal(
    program: str, pairs: list[SentencePair], beside: list[SentencePair], folder: Path
) -> dict[str, list[Links]]:
    files = folder / "forward", folder / "backward"
    outputs = ["-f", str(files[0]), "-r", str(files[1]), "--overwrite"]
    subprocess.run(
        [program, "-s", *_files(pairs + beside, folder, "-t"), *outputs],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    forward, backward = (_read(file)[: len(pairs)] for file in files)
    union = [one | other for one, other in zip(forward, backward, strict=True)]
    return {"eflomal forward": forward, "eflomal backward": backward, "eflomal union": union}


def _files(pairs: list[SentencePair], folder: Path, option: str) -> list[str]:
    """The pairs as two files of words, the option of the second between them."""
    paths = folder / "source", folder / "target"
    for path, side in zip(paths, ("source", "target"), strict=True):
        lines = (" ".join(split_words(getattr(pair, side))) for pair in pairs)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [str(paths[0]), option, str(paths[1])]


def _read(path: Path) -> list[Links]:
    return [alignment.sure for alignment in read_pharaoh(path)]


if __name__ == "__main__":
    sys.exit(main())
