"""Train JoeyNMT's GRU on the pairs and pieces of LibreOffice's help, to compare scores.

    python scripts/get_libreoffice.py de
    python -m benchmarks.joey prepare FOLDER          # pieces of the tokenizers of help-en-de
    JOEY/bin/python benchmarks/joey.py train FOLDER   # started again, it goes on from its last checkpoint
    JOEY/bin/python benchmarks/joey.py test FOLDER    # beam search with the best checkpoint
    python -m benchmarks.joey score FOLDER

`JOEY` is an environment with ``pip install joeynmt==2.3.0``. Its configuration is ``benchmarks/joeynmt.yaml``.

JoeyNMT does not sort sentences by length. So that it pads as little as this program, the file of training pairs has all
passes, each in its own random order of batches of similar length, and is read in the order of the file.
"""

import argparse
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

import yaml

CONFIGURATION = Path(__file__).with_name("joeynmt.yaml")
MODEL, LANGUAGES = "help-en-de", ("en", "de")
PASSES, BATCH, LONGEST = 22, 128, 100

Pieces = list[tuple[list[str], list[str]]]


# --- in this program's environment ---


def corpus() -> tuple[Any, Any, dict[str, Pieces]]:
    """Return the splits, the tokenizers of source and target, and the pieces of each split."""
    from seq2seq.data import LibreOfficeHelp
    from seq2seq.data.folders import model_path
    from seq2seq.data.tokenizers import load_tokenizers

    splits = LibreOfficeHelp(source_language=LANGUAGES[0], target_language=LANGUAGES[1]).read()
    tokenizers = load_tokenizers(model_path(MODEL))
    pieces = {
        name: [(tokenizers[0].tokens(pair.source), tokenizers[1].tokens(pair.target)) for pair in split]
        for name, split in (("train", splits.train), ("dev", splits.validation), ("test", splits.test))
    }
    return splits, tokenizers, pieces


def by_length(pairs: Pieces) -> list[int]:
    """Return the places of pairs, the shortest first."""
    return sorted(range(len(pairs)), key=lambda place: (len(pairs[place][1]), len(pairs[place][0])))


def in_passes(pairs: Pieces) -> list[int]:
    """Return the places of pairs, all passes one after another; each has only whole batches of similar length."""
    import numpy as np

    from seq2seq.data.batching import BatchSize, shuffled_order

    sources, targets = (np.array([len(pair[side]) for pair in pairs]) for side in range(2))
    size = BatchSize(sentences=BATCH, tokens=None)
    orders = [shuffled_order(sources, targets, size, seed=1, epoch=epoch) for epoch in range(PASSES)]
    return np.concatenate([batch for order in orders for batch in order if len(batch) == BATCH]).tolist()


def prepare(folder: Path) -> None:
    """Write the pieces of all splits and the vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    _, tokenizers, pieces = corpus()
    pieces["train"] = [pair for pair in pieces["train"] if max(map(len, pair)) <= LONGEST]
    for name, pairs in pieces.items():
        order = in_passes(pairs) if name == "train" else by_length(pairs)
        for side, language in enumerate(LANGUAGES):
            lines = "".join(f"{' '.join(pairs[place][side])}\n" for place in order)
            (folder / f"{name}.{language}").write_text(lines, encoding="utf-8")
        print(f"{name}: {len(pairs):,} pairs, {len(order):,} lines")
    (folder / "vocabulary.txt").write_text("\n".join(tokenizers[1].vocabulary) + "\n", encoding="utf-8")


def score(folder: Path) -> None:
    """Print BLEU and chrF of the translations, whose pieces are joined as this program joins its own."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    splits, tokenizers, pieces = corpus()
    references = [splits.test[place].target for place in by_length(pieces["test"])]
    lines = (folder / "translations.test").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    hypotheses = [tokenizers[1].text(line.split(" ")) for line in lines]
    for metric in (BLEU(), CHRF()):
        print(metric.corpus_score(hypotheses, [references]), metric.get_signature())


# --- in JoeyNMT's environment ---


def joeynmt(*arguments: str) -> None:
    """Run JoeyNMT's command with a PyTorch that is newer than JoeyNMT; Ctrl-C and SIGTERM make it save a checkpoint."""
    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # its checkpoints hold more than tensors
    import torch

    class Plateau(torch.optim.lr_scheduler.ReduceLROnPlateau):
        def __init__(self, *given: Any, verbose: bool = False, **options: Any) -> None:
            super().__init__(*given, **options)

    torch.optim.lr_scheduler.ReduceLROnPlateau = Plateau  # type: ignore[misc]
    torch.set_num_threads(1)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.default_int_handler)
    sys.argv = ["joeynmt", *arguments]
    runpy.run_module("joeynmt", run_name="__main__")


def checkpoints(name: str) -> list[str]:
    """Return the checkpoints of a name, such as ``best.ckpt``, of all starts, the oldest first."""
    starts = sorted(Path().glob("model*"), key=lambda path: int(path.name.removeprefix("model")))
    return [str(path / name) for path in starts if (path / name).exists()]


def write(name: str, made: dict[str, Any]) -> str:
    """Write a configuration and return its path."""
    Path(name).write_text(yaml.safe_dump(made, sort_keys=False))
    return name


def train() -> None:
    """Train in a new folder, from the last checkpoint if there is one."""
    made = yaml.safe_load(CONFIGURATION.read_text())
    made["model_dir"] = f"model{len(list(Path().glob('model*'))) + 1}"
    made["training"]["load_model"] = (checkpoints("latest.ckpt") or [None])[-1]
    joeynmt("train", write("train.yaml", made), "--skip-test")


def test() -> None:
    """Translate the test pairs with the best checkpoint."""
    made = yaml.safe_load(CONFIGURATION.read_text())
    best = Path(checkpoints("best.ckpt")[-1])
    print(f"{best} is {best.resolve().name}")
    made["model_dir"], made["testing"]["load_model"] = str(best.parent), str(best)
    del made["data"]["dev"]
    joeynmt("test", write("test.yaml", made), "--output-path", "translations")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=["prepare", "train", "test", "score"])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.action in ("prepare", "score"):
        {"prepare": prepare, "score": score}[options.action](options.folder)
    else:
        os.chdir(options.folder)
        {"train": train, "test": test}[options.action]()
