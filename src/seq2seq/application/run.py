"""One run: a configuration and a folder in, metrics out."""

import json
import os
import time
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from seq2seq.application.build.corpus import build_corpus
from seq2seq.config import Config
from seq2seq.errors import InputError

Metrics = dict[str, Any]
"""What ``metrics.json`` holds: scores by split, then facts of the run."""


def run(config: Config, run_dir: Path) -> Metrics:
    """Train a model, export it, and score it on the test split.

    A run that is finished is not repeated; one that was interrupted continues. Where the
    configuration asks for the corpus check only, that is printed and nothing is left. Leaves in
    `run_dir`: ``config.yaml``, ``tokenizer/``, ``checkpoints/``, TensorBoard events, ``model/``
    and ``metrics.json``.

    Args:
        config: everything that decides the run.
        run_dir: the folder of the run.

    Returns:
        The metrics, as in ``metrics.json``.

    Raises:
        InputError: the configuration or the corpus is wrong.
        TrainingInterrupted: a signal stopped the training; its checkpoint is written.
    """
    if config.check_corpus:
        corpus = build_corpus(config.data, config.seed)
        from seq2seq.application.corpus_check import check_corpus  # noqa: PLC0415 - torchtext

        print(check_corpus(config, corpus))
        return {}
    finished = read_metrics(run_dir)
    if finished is not None:
        print(f"{run_dir} is finished; give another name=… to train again")
        print(summary(finished, run_dir))
        return finished
    started = time.monotonic()
    corpus = build_corpus(config.data, config.seed)
    make_folder(run_dir)

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
    """Metrics of a finished run; None where there is none."""
    path = run_dir / "metrics.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


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
        line
        for split, card in metrics.items()
        if isinstance(card, dict)
        for line in _score_lines(split, card)
    ]
    seconds = round(metrics["seconds"])
    return "\n".join(
        [
            *scores,
            f"time        {seconds // 60}:{seconds % 60:02d}",
            *_share_lines(metrics),
            f"results     {run_dir}",
            f"look        tensorboard --logdir {run_dir.parent}",
            f"translate   python scripts/translate.py {run_dir} < sentences.txt",
        ]
    )


def _share_lines(metrics: Metrics) -> list[str]:
    """What training cost besides the model; none where a finished training was continued."""
    if "tensorboard_share" not in metrics:
        return []
    return [
        f"of training {metrics['tensorboard_share']:.1%} on TensorBoard, "
        f"{metrics['data_share']:.1%} waiting for data; padding {metrics['padding_share']:.1%}"
    ]


def _score_lines(split: str, card: Metrics) -> list[str]:
    """The scores of a split: of greedy search and, where there was one, of beam search."""
    searches = [(split, card, "greedy")]
    if "beam" in card:
        searches.append(("", card["beam"], "beam search"))
    return [
        f"{title:<11} BLEU {scores['bleu']:.1f}   lower-cased {scores['bleu_lowercase']:.1f}   "
        f"chrF {scores['chrf']:.1f}   ({scores['num_sentences']:,} sentences, {search})"
        for title, scores, search in searches
    ]
