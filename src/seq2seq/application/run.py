"""One run: a configuration and a folder in, metrics out."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from seq2seq.application.build.corpus import build_corpus
from seq2seq.config import Config
from seq2seq.errors import InputError
from seq2seq.experiments.folder_lock import FolderLock

Metrics = dict[str, Any]
"""What ``metrics.json`` holds: scores by split, then facts of the run."""


def run(config: Config, run_dir: Path) -> Metrics:
    """Train a model, export it, and score it on the test split.

    A run that is finished is not repeated; one that was interrupted continues. Leaves in
    `run_dir`: ``config.yaml``, ``tokenizer/``, ``checkpoints/``, TensorBoard events, ``model/``
    and ``metrics.json``.

    Args:
        config: everything that decides the run.
        run_dir: the folder of the run.

    Returns:
        The metrics, as in ``metrics.json``.

    Raises:
        InputError: the configuration or the corpus is wrong, the folder is another run's, or
            another process works in it.
        TrainingFailed: training cannot go on.
        TrainingInterrupted: a signal stopped the training; its checkpoint is written.
    """
    make_folder(run_dir)
    with _locked(run_dir):
        return _run(config, run_dir)


@contextmanager
def _locked(run_dir: Path) -> Iterator[None]:
    """Be the only process that works in the folder, beside the other ranks of one job."""
    if not is_first_rank(os.environ):
        yield
        return
    lock = FolderLock.acquire(run_dir)
    if lock is None:
        raise InputError(f"{run_dir} is being trained by another process: give another name=…")
    try:
        yield
    finally:
        lock.release()


def is_first_rank(environment: Mapping[str, str]) -> bool:
    """Whether this process is the first, or only, one of its job, by what launchers set."""
    ranks = (environment.get(name, "0") for name in ("RANK", "LOCAL_RANK", "SLURM_PROCID"))
    return all(rank == "0" for rank in ranks)


def _run(config: Config, run_dir: Path) -> Metrics:
    finished = read_metrics(run_dir)
    if finished is not None:
        print(f"{run_dir} is finished; give another name=… to train again")
        print(summary(finished, run_dir))
        return finished
    started = time.monotonic()
    corpus = build_corpus(config.data, config.seed)

    # torch and Lightning load only for a corpus that can be read
    from seq2seq.application.training_run import prepare, train_and_score  # noqa: PLC0415

    prepared = prepare(config, corpus, run_dir)
    write_text(run_dir / "config.yaml", OmegaConf.to_yaml(OmegaConf.structured(config)))
    metrics = train_and_score(config, prepared, run_dir)
    metrics["seconds"] = round(time.monotonic() - started, 1)
    write_text(run_dir / "metrics.json", json.dumps(metrics, indent=1))
    print(summary(metrics, run_dir))
    return metrics


def make_folder(path: Path) -> None:
    """Make a folder, with those above it.

    Raises:
        InputError: it cannot be made, or not written to.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        writable = os.access(path, os.W_OK)
    except OSError as error:
        raise InputError(
            f"{path} cannot be made ({error.strerror}): set runs_dir to a folder of yours"
        ) from error
    if not writable:
        raise InputError(f"{path} cannot be written to: set runs_dir to a folder of yours")


def read_metrics(run_dir: Path) -> Metrics | None:
    """Metrics of a finished run; None where there is none.

    Raises:
        InputError: the file is damaged.
    """
    path = run_dir / "metrics.json"
    if not path.is_file():
        return None
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
        summary(metrics, run_dir)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} does not hold the metrics of a run: remove it to score the run again"
        ) from error
    return metrics


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


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
