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
    return parser


def _compare(arguments: argparse.Namespace) -> int:
    program, is_own = shutil.which(arguments.eflomal), arguments.source is None
    if is_own != (arguments.target is None):
        raise InputError("--source and --target: give both or neither")
    if program is None and not is_own:
        raise InputError(f"there is no program {arguments.eflomal} to agree with: give --eflomal")
    pairs, beside = _corpus() if is_own else (read_parallel(arguments.source, arguments.target), [])
    with TemporaryDirectory() as folder:
        ways = {way: _by_model(arguments.model, way, pairs, Path(folder)) for way in METHODS}
        if program is not None:
            ways |= _by_eflomal(program, pairs, beside, Path(folder))
    gold = [GoldAlignment.from_links(pair.alignment or (), pair.possible) for pair in pairs]
    if not is_own:
        gold = [GoldAlignment(links, links) for links in ways["eflomal forward"]]
    print(f"{'AER' if is_own else '1 - agreement with eflomal forward'}, {len(pairs):,} pairs")
    for way, links in ways.items():
        counts = sum(map(AlignmentCounts.of, links, gold), AlignmentCounts())
        print(f"  {way:<18} {counts.error_rate:.4f}")
    if program is None:
        print(f"eflomal is left out: there is no program {arguments.eflomal}")
    return 0


def _corpus() -> tuple[list[SentencePair], list[SentencePair]]:
    """The test and the training pairs of the default experiment."""
    grammar = load_grammar(GRAMMAR)
    return grammar.sample(1000, 1, "test"), grammar.sample(20_000, 1, "train")


def _by_model(model: Path, method: str, pairs: list[SentencePair], folder: Path) -> list[Links]:
    command = [sys.executable, "-m", "seq2seq.commands", "align", str(model), "--method", method]
    with (folder / "links").open("wb") as output:
        files = _files(pairs, folder, "--source", "--target")
        done = subprocess.run([*command, *files], stdout=output, check=False)
    if done.returncode:
        raise InputError(f"seq2seq align ended with status {done.returncode}")
    return _read(folder / "links")


def _by_eflomal(
    program: str, pairs: list[SentencePair], beside: list[SentencePair], folder: Path
) -> dict[str, list[Links]]:
    command = [program, *_files(pairs + beside, folder, "-s", "-t"), "--overwrite"]
    outputs = folder / "forward", folder / "backward"
    subprocess.run([*command, "-f", outputs[0], "-r", outputs[1]], check=True)
    forward, backward = (_read(each)[: len(pairs)] for each in outputs)
    union = [one | other for one, other in zip(forward, backward, strict=True)]
    return {"eflomal forward": forward, "eflomal backward": backward, "eflomal union": union}


def _files(pairs: list[SentencePair], folder: Path, *options: str) -> list[str]:
    """The pairs as two files of words, each behind its option."""
    for option, side in zip(options, ("source", "target"), strict=True):
        lines = (" ".join(split_words(getattr(pair, side))) for pair in pairs)
        (folder / option).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [each for option in options for each in (option, str(folder / option))]


def _read(path: Path) -> list[Links]:
    return [alignment.sure for alignment in read_pharaoh(path)]


if __name__ == "__main__":
    sys.exit(main())
