"""An epoch of training beside JoeyNMT's: python -m benchmarks.epoch FOLDER --joeynmt PYTHON

Trains on Multi30k en-de (FOLDER, as data.root) with `seq2seq train`, then the same model on the
same pieces with JoeyNMT 2.3 in the environment of PYTHON (pip install joeynmt importlib_metadata
"sentencepiece<0.2.1"), and prints the target tokens a second that both count while they train.
JoeyNMT trains in float32, which is all that it has on a CPU.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from seq2seq.command_line.program import program_parser, run_program
from seq2seq.errors import InputError
from seq2seq.text.corpus import SentencePair
from seq2seq.text.multi30k import Selection, read_multi30k

LANGUAGES = ("en", "de")
WIDTH, PIECES, BATCH, DROPOUT, RATE = 512, 6000, 64, 0.3, 0.001

OWN = re.compile(r"epoch .* ([\d,]+) tokens/s")
THEIRS = re.compile(r"Tokens per Sec: +(\d+)")
SPECIAL = ("<unk>", "<pad>", "<s>", "</s>")


def main() -> int:
    """Train twice, and print."""
    parser = program_parser(__doc__)
    add = parser.add_argument
    add("root", type=Path, metavar="FOLDER", help="Multi30k")
    add("--joeynmt", required=True, metavar="PYTHON", help="of an environment that has it")
    add("--pairs", type=int, default=29_000, help="of the training split (default: all)")
    add("--threads", type=int, default=2, help="of the processor (default: 2)")
    return run_program(parser, _compare)


def _compare(arguments: argparse.Namespace) -> int:
    with TemporaryDirectory() as folder:
        own = _own_speed(arguments, Path(folder))
        print(f"{'seq2seq':<10}{own:,.0f} target tokens a second", flush=True)
        theirs = _their_speed(arguments, Path(folder))
        print(f"{'JoeyNMT':<10}{theirs:,.0f} target tokens a second")
        print(f"{'ratio':<10}{own / theirs:.2f}")
    return 0


def _own_speed(arguments: argparse.Namespace, folder: Path) -> float:
    overrides = {
        "data": "multi30k",
        "data.root": arguments.root,
        "data.limit": arguments.pairs,
        "data.source_language": LANGUAGES[0],
        "data.target_language": LANGUAGES[1],
        "data.tokenizer.max_size": PIECES,
        "data.tokenizer.joint": "false",
        "recipe": "small",
        "model.embedding_size": WIDTH,
        "model.encoder_hidden_size": WIDTH,
        "model.decoder_hidden_size": WIDTH,
        "model.readout_size": WIDTH,
        "model.tying": "none",
        "model.dropout": DROPOUT,
        "attention.hidden_size": WIDTH,
        "optim.learning_rate": RATE,
        "trainer.batch_sentences": BATCH,
        "trainer.max_epochs": 1,
        "decoding.beam": 1,
        "device": "cpu",
        "device.precision": "bf16-mixed",
        "device.threads": arguments.threads,
        "runs_dir": folder,
        "experiment_name": "epoch",
        "name": "own",
    }
    given = [f"{key}={value}" for key, value in overrides.items()]
    return _speed([sys.executable, "-m", "seq2seq.commands", "train", *given], OWN, os.environ)


def _their_speed(arguments: argparse.Namespace, folder: Path) -> float:
    splits = dict(zip(("train", "dev"), _pairs(arguments), strict=True))
    for name, pairs in splits.items():
        for side, language in zip(("source", "target"), LANGUAGES, strict=True):
            text = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
            (folder / f"{name}.{language}").write_text(text, "utf-8")
    models = folder / "epoch" / "own" / "model"
    num_steps = -(-len(splits["train"]) // BATCH)
    config = _their_config(folder, models, num_steps - 1)
    path = folder / "joeynmt.yaml"
    path.write_text(json.dumps(config), "utf-8")  # which is YAML
    environment = os.environ | {"OMP_NUM_THREADS": str(arguments.threads)}
    program = [arguments.joeynmt, "-m", "joeynmt", "train", str(path), "--skip-test"]
    return _speed(program, THEIRS, environment)


def _pairs(arguments: argparse.Namespace) -> tuple[list[SentencePair], list[SentencePair]]:
    corpus = read_multi30k(arguments.root, Selection(*LANGUAGES, "flickr_2016"))
    return list(corpus.train)[: arguments.pairs], list(corpus.validation)[:BATCH]


def _their_config(folder: Path, models: Path, logged: int) -> dict[str, Any]:
    """The same model, corpus and optimisation as JoeyNMT names them, with its speed at one step."""
    unknown, padding, begin, end = SPECIAL
    recurrent = {
        "type": "recurrent",
        "rnn_type": "gru",
        "embeddings": {"embedding_dim": WIDTH},
        "hidden_size": WIDTH,
        "num_layers": 1,
        "dropout": DROPOUT,
    }
    decoder = {"attention": "bahdanau", "init_hidden": "bridge", "hidden_dropout": DROPOUT}
    return {
        "name": "epoch",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "joeynmt"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": 1,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "dev"),
            "dataset_type": "plain",
            "src": _their_side("source", LANGUAGES[0], folder, models),
            "trg": _their_side("target", LANGUAGES[1], folder, models),
            "special_symbols": {
                "unk_token": unknown, "pad_token": padding, "bos_token": begin, "eos_token": end,
                "unk_id": 0, "pad_id": 1, "bos_id": 2, "eos_id": 3,
            },
        },
        "testing": {"beam_size": 1, "batch_size": BATCH, "max_output_length": 40},
        "training": _their_training(logged),
        "model": {
            "initializer": "xavier_uniform",
            "encoder": recurrent | {"bidirectional": True},
            "decoder": recurrent | decoder,
        },
    }  # fmt: skip


def _their_training(logged: int) -> dict[str, Any]:
    return {
        "optimizer": "adam",
        "learning_rate": RATE,
        "scheduling": "exponential",
        "decrease_factor": 0.99,
        "clip_grad_norm": 1.0,
        "batch_size": BATCH,
        "epochs": 1,
        "validation_freq": 2 * logged,  # never
        "logging_freq": logged,
        "early_stopping_metric": "loss",
    }


def _their_side(side: str, language: str, folder: Path, models: Path) -> dict[str, Any]:
    """A side of the corpus, in the pieces of our run."""
    from sentencepiece import SentencePieceProcessor  # noqa: PLC0415 - late

    model = models / f"{side}.model"
    pieces = SentencePieceProcessor(model_file=str(model))
    names = (pieces.id_to_piece(number) for number in range(pieces.get_piece_size()))
    vocabulary = folder / f"{side}.pieces"
    vocabulary.write_text("".join(f"{name}\n" for name in names if name not in SPECIAL), "utf-8")
    return {
        "lang": language,
        "level": "bpe",
        "voc_file": str(vocabulary),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(model)},
    }


def _speed(command: list[str], line: re.Pattern[str], environment: Mapping[str, str]) -> float:
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    found = line.search(done.stdout)
    if done.returncode or found is None:
        raise InputError(f"{command[0]} has trained no epoch: {done.stdout[-1000:]}")
    return float(found.group(1).replace(",", ""))


if __name__ == "__main__":
    sys.exit(main())
