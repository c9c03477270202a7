"""One run: a configuration and a folder in, metrics out."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seq2seq.application.build.corpus import build_corpus
from seq2seq.application.run_record import (
    RunRecord,
    config_yaml,
    finish_record,
    finished_scores,
    refuse_other_config,
)
from seq2seq.config import Config
from seq2seq.errors import InputError
from seq2seq.experiments.files import write_text
from seq2seq.experiments.folder_lock import FolderLock
from seq2seq.experiments.ledger import read_ledger

Metrics = dict[str, Any]
"""What ``metrics.json`` holds: scores by split, then facts of the run."""


def refuse_sweep(config: Config) -> None:
    """A sweep is not one run.

    Raises:
        InputError: the configuration is that of a sweep.
    """
    if config.sweep.parameters:
        raise InputError("sweep=… describes many runs: add -m")


def run(config: Config, run_dir: Path, overrides: Sequence[str] = ()) -> Metrics:
    """Train a model, export it, and score it on the test split.

    A run that is finished is not repeated; one that was interrupted continues. Leaves in
    `run_dir`: ``config.yaml``, ``tokenizer/``, ``checkpoints/``, TensorBoard events, ``model/``,
    ``translations/``, ``metrics.json`` and ``ledger.json``, the record of all this.

    Args:
        config: everything that decides the run.
        run_dir: the folder of the run.
        overrides: what the command line set, for the record.

    Returns:
        The metrics, as in ``metrics.json``.

    Raises:
        InputError: the configuration or the corpus is wrong, or the folder is another run's.
        TrainingInterrupted: a signal stopped the training; its checkpoint is written.
    """
    with _locked(run_dir):
        refuse_other_config(run_dir, config)
        finished = finished_scores(run_dir)
        if finished is not None:
            finish_record(run_dir, finished)
            print(f"{run_dir} is finished; give another name=… to train again")
            print(summary(finished, run_dir))
            return finished
        record = RunRecord.begin(config, run_dir, overrides)
        with record.kept():
            metrics = _train(config, run_dir, record)
    print(summary(metrics, run_dir))
    return metrics


@contextmanager
def _locked(run_dir: Path) -> Iterator[None]:
    """Be the only process that works in the folder.

    Raises:
        InputError: another one does, or the folder cannot be made.
    """
    lock = FolderLock.acquire(run_dir)
    if lock is None:
        ledger = read_ledger(run_dir)
        who = "" if ledger is None else f" (process {ledger.process} on {ledger.host})"
        raise InputError(f"{run_dir} is being trained by another process{who}: give name=…")
    try:
        yield
    finally:
        lock.close()


def _train(config: Config, run_dir: Path, record: RunRecord) -> Metrics:
    corpus = build_corpus(config.data, config.seed)

    # torch and Lightning load only for a corpus that can be read
    from seq2seq.application.training_run import prepare, train_and_score  # noqa: PLC0415

    prepared = prepare(config, corpus, run_dir)
    write_text(run_dir / "config.yaml", config_yaml(config))
    metrics = train_and_score(config, prepared, run_dir, record)
    record.save()
    metrics["seconds"] = record.ledger.wall_seconds
    write_text(run_dir / "metrics.json", json.dumps(metrics, indent=1))
    record.ledger.scores = metrics
    return metrics


def summary(metrics: Metrics, run_dir: Path) -> str:
    """Where the results are, the scores, and what to do next."""
    scores = [
        f"{split:<11} BLEU {card['bleu']:.1f}   lower-cased {card['bleu_lowercase']:.1f}   "
        f"chrF {card['chrf']:.1f}   ({card['num_sentences']:,} sentences, greedy)"
        for split, card in metrics.items()
        if isinstance(card, dict)
    ]
    seconds = round(metrics["seconds"])
    return "\n".join(
        [
            *scores,
            f"time        {seconds // 60}:{seconds % 60:02d}",
            f"results     {run_dir}",
            f"look        tensorboard --logdir {run_dir.parent}",
            f"translate   python scripts/translate.py {run_dir} < sentences.txt",
        ]
    )
