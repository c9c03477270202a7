"""train.py with a training that takes no time, and that can go wrong: for tests of sweeps.

`data.seed` says how a job ends: 101 raises, 102 calls exit, 103 is sent SIGTERM and keeps its
progress, 104 is killed. `model.embedding_size` is milliseconds an epoch, `model.dropout` what the
job is worth.
"""

import json
import os
import random
import runpy
import signal
import sys
import time
from pathlib import Path

from seq2seq.errors import TrainingInterrupted
from seq2seq.experiments.translations import Translations, translations_path, write_translations
from seq2seq.runs import launch as launch_module
from seq2seq.runs import run as run_module
from seq2seq.runs import start as start_module
from seq2seq.storage.writing import write_file

PROGRAM = Path(__file__).parents[1] / "train.py"

LAUNCH = launch_module.launch

SENTENCES = ["the red cat sleeps on a mat", "a dog sees the cat", "they do not see it"] * 10


def misbehave(how, checkpoint):
    if how == 101:
        raise ValueError("the loss exploded")
    if how == 102:
        sys.exit(3)
    if how == 103:
        raise TrainingInterrupted(signal.SIGTERM, checkpoint)
    if how == 104:
        os.kill(os.getpid(), signal.SIGKILL)


def stub_training(config, _corpus, record, job):
    if not job.is_first:
        return {}
    run_dir = record.folder
    checkpoint, received = run_dir / "checkpoints" / "last.ckpt", []
    signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    state = json.loads(checkpoint.read_text()) if checkpoint.is_file() else {"epoch": 0, "sum": 0.0}
    while state["epoch"] < config.trainer.max_epochs:
        time.sleep(config.model.embedding_size / 1000)
        epoch = state["epoch"] + 1
        noise = random.Random(f"{config.seed} {config.attention.score} {epoch}").random()
        state = {"epoch": epoch, "sum": state["sum"] + noise}
        value = 10 * epoch * (1 - config.model.dropout) + state["sum"]
        record.add_validation({"epoch": epoch, "step": 10 * epoch, "validation/bleu": value})
        write_file(checkpoint, json.dumps(state))
        if received:
            raise TrainingInterrupted(received[0], checkpoint)
        misbehave(config.data.seed, checkpoint)
    write_file(run_dir / "model" / "model.json", "{}")
    write_file(run_dir / "config.yaml", run_module.config_yaml(config))
    translations = translated(config)
    record.ledger.texts = {"test": translations.text}
    write_translations(translations_path(run_dir, "test"), translations)
    card = {"bleu": value, "bleu_lowercase": value, "chrf": value}
    card |= {"bleu_signature": "stub", "num_sentences": 30}
    metrics = {"test": card, "seconds": 0.1}
    write_file(run_dir / "metrics.json", json.dumps(metrics))
    with (run_dir / "ends.txt").open("a") as ends:
        ends.write(f"{value!r}\n")
    record.ledger.scores = metrics
    return metrics


def translated(config):
    """Translations that lose a word more often with a greater dropout."""
    generator = random.Random(f"{config.seed} {config.attention.score}")
    sentences = SENTENCES[: config.data.test_pairs]
    hypotheses = [
        " ".join(word for word in line.split() if generator.random() >= config.attention.dropout)
        for line in sentences
    ]
    return Translations(sentences, sentences, hypotheses)


if __name__ == "__main__":
    run_module._train = stub_training
    run_module.build_corpus = lambda *_: "a corpus"
    # the path of the program that runpy runs takes the place of this one's
    start_module.launch = lambda command, count: LAUNCH([command[0], __file__, *command[2:]], count)
    if "-m" in sys.argv:
        from seq2seq.sweeps import sweep

        sweep.own_command = lambda: [sys.executable, __file__]
    runpy.run_path(str(PROGRAM), run_name="__main__")
