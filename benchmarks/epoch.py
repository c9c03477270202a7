"""Train one epoch here and with JoeyNMT: ``python -m benchmarks.epoch FOLDER --joeynmt PYTHON``

The first pairs of Multi30k en-de (FOLDER, as ``data.root``) are the training data. JoeyNMT 2.3 then trains a model of
the same sizes on the same pieces, in the environment of PYTHON: ``pip install joeynmt importlib_metadata
"sentencepiece<0.2.1"``. Printed are the target tokens a second that each program reports for its training. JoeyNMT
trains in float32, its only choice on a CPU; this program in bfloat16.
"""

import argparse
import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

WIDTH, PIECES, BATCH, DROPOUT, RATE = 512, 6000, 64, 0.3, 0.001
SPECIAL = ("<unk>", "<pad>", "<s>", "</s>")
CONFIG = """
name: epoch
joeynmt_version: 2.3.0
model_dir: {folder}/joeynmt
use_cuda: false
fp16: false
random_seed: 1
data:
  train: {folder}/train
  dev: {folder}/val
  dataset_type: plain
  src: {{lang: en, level: bpe, voc_file: {folder}/source.pieces, tokenizer_type: sentencepiece,
        tokenizer_cfg: {{model_file: {folder}/runs/own/model/source.model}}}}
  trg: {{lang: de, level: bpe, voc_file: {folder}/target.pieces, tokenizer_type: sentencepiece,
        tokenizer_cfg: {{model_file: {folder}/runs/own/model/target.model}}}}
  special_symbols: {{unk_token: <unk>, pad_token: <pad>, bos_token: <s>, eos_token: </s>,
                    unk_id: 0, pad_id: 1, bos_id: 2, eos_id: 3}}
testing: {{beam_size: 1, batch_size: {batch}, max_output_length: 40}}
training: {{optimizer: adam, learning_rate: {rate}, scheduling: exponential, decrease_factor: 0.99, clip_grad_norm: 1.0,
           batch_size: {batch}, epochs: 1, validation_freq: {never}, logging_freq: {logged},
           early_stopping_metric: loss}}
model:
  initializer: xavier_uniform
  encoder: {{type: recurrent, rnn_type: gru, embeddings: {{embedding_dim: {width}}}, hidden_size: {width}, num_layers: 1,
            dropout: {dropout}, bidirectional: true}}
  decoder: {{type: recurrent, rnn_type: gru, embeddings: {{embedding_dim: {width}}}, hidden_size: {width}, num_layers: 1,
            dropout: {dropout}, attention: bahdanau, init_hidden: bridge, hidden_dropout: {dropout}}}
"""


def main() -> None:
    """Train with both programs, and print their speed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path, metavar="FOLDER", help="folder of Multi30k")
    parser.add_argument("--joeynmt", required=True, metavar="PYTHON", help="Python with JoeyNMT")
    parser.add_argument("--pairs", type=int, default=29_000, help="training pairs (default: all 29,000)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each program (default: 2)")
    options = parser.parse_args()
    environment = os.environ | {"OMP_NUM_THREADS": str(options.threads)}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for split, count in (("train", options.pairs), ("val", BATCH)):
            for language in ("en", "de"):
                with gzip.open(options.root / f"{split}.{language}.gz", "rt", encoding="utf-8") as lines:
                    text = "".join(line for line, _ in zip(lines, range(count), strict=False))
                (folder / f"{split}.{language}").write_text(text, encoding="utf-8")
        own = speed(own_command(folder, options.threads), r"epoch .* ([\d,]+) tokens/s", environment)
        print(f"here      {own:,.0f} target tokens a second", flush=True)
        write_joeynmt_config(folder, options.pairs)
        command = [options.joeynmt, "-m", "joeynmt", "train", str(folder / "joeynmt.yaml"), "--skip-test"]
        theirs = speed(command, r"Tokens per Sec: +(\d+)", environment)
        print(f"JoeyNMT   {theirs:,.0f} target tokens a second\nratio     {own / theirs:.2f}")


def own_command(folder: Path, threads: int) -> list[str]:
    """Return the command line of this program's training."""
    encoder, decoder = "model.encoder", "model.decoder"
    overrides = {
        "data": "parallel", "data.source_language": "en", "data.target_language": "de",
        "data.train.source": folder / "train.en", "data.train.target": folder / "train.de",
        "data.validation.source": folder / "val.en", "data.validation.target": folder / "val.de",
        "recipe": "small", "tokenizer": "bpe", "data.tokenizer.vocab_size": PIECES, "data.batch_size": BATCH,
        "model.embedding_size": WIDTH, "model.tie_embeddings": "none", "model.decoder.attention.score.hidden_size": WIDTH,
        f"{encoder}.hidden_size": WIDTH, f"{decoder}.hidden_size": WIDTH, f"{decoder}.readout_size": WIDTH,
        f"{encoder}.dropout": DROPOUT, f"{decoder}.dropout": DROPOUT, "optimizer.lr": RATE, "trainer.max_epochs": 1,
        "trainer.precision": "bf16-mixed", "decoding.beam_size": 1, "device": "cpu", "threads": threads,
        "hydra.run.dir": folder / "runs/own",
    }  # fmt: skip
    return [sys.executable, "train.py", *(f"{key}={value}" for key, value in overrides.items())]


def write_joeynmt_config(folder: Path, pairs: int) -> None:
    """Write the configuration of JoeyNMT, and the pieces of our tokenizers as its vocabularies."""
    from sentencepiece import SentencePieceProcessor

    for side in ("source", "target"):
        pieces = SentencePieceProcessor(model_file=str(folder / f"runs/own/model/{side}.model"))
        names = map(pieces.id_to_piece, range(pieces.get_piece_size()))
        text = "".join(f"{name}\n" for name in names if name not in SPECIAL)
        (folder / f"{side}.pieces").write_text(text, encoding="utf-8")
    logged = -(-pairs // BATCH) - 1  # the speed is printed once, before the last step
    text = CONFIG.format(
        folder=folder, batch=BATCH, rate=RATE, logged=logged, never=2 * logged, width=WIDTH, dropout=DROPOUT
    )
    (folder / "joeynmt.yaml").write_text(text, encoding="utf-8")


def speed(command: list[str], pattern: str, environment: dict[str, str]) -> float:
    """Run a command, and return the number that its output has last."""
    done = subprocess.run(
        command, check=False, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    found = re.findall(pattern, done.stdout)
    if done.returncode or not found:
        sys.exit(f"{' '.join(command[:3])} failed:\n{done.stdout[-3000:]}")
    return float(found[-1].replace(",", ""))


if __name__ == "__main__":
    main()
