"""One run: a configuration and a folder in, metrics out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from seq2seq.config import Config
from seq2seq.errors import InputError
from seq2seq.experiments.ledger import flat, read_ledger
from seq2seq.experiments.metrics import VERSION
from seq2seq.experiments.translations import text_fingerprint
from seq2seq.option_rules import warnings
from seq2seq.plain_text import one_line
from seq2seq.runs.making.corpus import build_corpus, made_meanwhile, new_sources
from seq2seq.runs.process_group import process_group
from seq2seq.runs.run_folder import require_place, tidy
from seq2seq.runs.run_record import (
    RunRecord,
    config_values,
    config_yaml,
    finish_record,
    finished_scores,
    refuse_other_finished,
)
from seq2seq.runs.summary import Metrics, summary
from seq2seq.storage.failures import refusals_in_one_line
from seq2seq.storage.folder_lock import FolderLock
from seq2seq.storage.typed_json import encoded
from seq2seq.storage.writing import write_file
from seq2seq.text.corpus import ParallelCorpus
from seq2seq.training.process_group import ProcessGroup


def run(config: Config, run_dir: Path, overrides: Sequence[str] = ()) -> Metrics:
    """Train a model, export it, and score it on the test split.

    A run that is finished is not repeated; one that was interrupted continues. Where the
    configuration asks for the corpus check only, that is printed and nothing is left. Leaves in
    `run_dir`: ``config.yaml``, ``tokenizer/``, ``checkpoints/``, TensorBoard events, ``model/``,
    ``translations/``, ``metrics.json`` and ``ledger.json``, the record of all this. A corpus that
    is refused leaves no folder.

    Args:
        config: everything that decides the run.
        run_dir: the folder of the run.
        overrides: what the command line set, for the record.

    Returns:
        The metrics, as in ``metrics.json``.

    Raises:
        InputError: the configuration or the corpus is wrong, the folder is another run's, or
            another process works in it.
        TrainingFailed: training cannot go on.
        TrainingInterrupted: a signal stopped the training; its checkpoint is written.
    """
    if config.check_corpus:
        _check_corpus(config)
        return {}
    with refusals_in_one_line(run_dir), process_group(config) as job:
        return _run(config, run_dir, overrides, job)


def _run(config: Config, run_dir: Path, overrides: Sequence[str], job: ProcessGroup) -> Metrics:
    if job.is_first:
        for line in warnings(flat(config_values(config)), overrides):
            print(one_line(line))
    is_finished = _finished(run_dir, job)
    with job.in_turn():
        corpus = None if is_finished else _corpus(config, run_dir)
    with _locked(run_dir) if job.is_first else nullcontext() as lock:
        # another run may have finished it while the corpus was read
        if corpus is None or _finished(run_dir, job):
            return _leave_finished(config, run_dir) if job.is_first else {}
        record = RunRecord.begin(config, run_dir, overrides, lock, writes=job.is_first)
        with record.kept(), refusals_in_one_line(run_dir):
            metrics = _train(config, corpus, record, job)
    if job.is_first:
        to_try = new_sources(config.data, corpus)
        print(summary(metrics, run_dir, config.trainer.monitor, to_try))
    return metrics


def _corpus(config: Config, run_dir: Path) -> ParallelCorpus:
    """The corpus, unless folders are wrong, or the model that is to learn cannot be built."""
    require_place(run_dir)
    _require_loggers(config)
    with made_meanwhile(config.data) as is_made:
        from seq2seq.runs.making.by_size import sized  # noqa: PLC0415 - torchtext
        from seq2seq.runs.making.model import check_model  # noqa: PLC0415 - torch
        from seq2seq.runs.resuming import require_mode  # noqa: PLC0415 - torch

        require_mode(config, run_dir)
        check_model(sized(config, 0))
        if is_made:
            import_module("seq2seq.runs.training_run")  # Lightning; there is nothing to refuse
    return build_corpus(config.data)


def _require_loggers(config: Config) -> None:
    for name in (logger.value for logger in config.logger):
        if find_spec(name) is None:
            raise InputError(
                f"logger={name} needs the package {name}: pip install 'seq2seq-attention[{name}]'"
            )


def _finished(run_dir: Path, job: ProcessGroup) -> bool:
    """Whether the first process finds the run finished."""
    return bool(job.greatest(int(job.is_first and finished_scores(run_dir) is not None)))


def _leave_finished(config: Config, run_dir: Path) -> Metrics:
    """Say how a finished run ended.

    Raises:
        InputError: it has another configuration.
    """
    refuse_other_finished(run_dir, config)
    metrics = finished_scores(run_dir) or {}
    finish_record(run_dir, metrics)
    print(one_line(f"{run_dir} is finished; give another name=… to train again"))
    print(summary(metrics, run_dir, config.trainer.monitor))
    return metrics


def _check_corpus(config: Config) -> None:
    """Print what training would read."""
    corpus = build_corpus(config.data)
    from seq2seq.runs.corpus_check import check_corpus  # noqa: PLC0415 - torchtext

    print(check_corpus(config, corpus))


@contextmanager
def _locked(run_dir: Path) -> Iterator[FolderLock]:
    """Be the only one who works in the folder.

    Raises:
        InputError: another one does, or the folder cannot be made.
    """
    lock = FolderLock.acquire(run_dir)
    if lock is None:
        ledger = read_ledger(run_dir)
        who = "" if ledger is None else f" (process {ledger.process} on {ledger.host})"
        raise InputError(f"{run_dir} is being trained by another process{who}: give name=…")
    try:
        tidy(run_dir)
        yield lock
    finally:
        lock.close()


def _train(config: Config, corpus: ParallelCorpus, record: RunRecord, job: ProcessGroup) -> Metrics:
    run_dir = record.folder
    # Lightning loads only for a corpus that can be read
    from seq2seq.runs.making.by_size import sized, sized_line  # noqa: PLC0415
    from seq2seq.runs.preparation import prepare  # noqa: PLC0415
    from seq2seq.runs.seen_text import keep_seen  # noqa: PLC0415
    from seq2seq.runs.training_run import train_and_score  # noqa: PLC0415

    fitted = sized(config, len(corpus.train), job.size)
    if job.is_first and fitted != config:
        print(sized_line(config, fitted))
    with job.in_turn():
        prepared = prepare(fitted, corpus, run_dir, job)
    prepared = replace(prepared, precision=job.gather(prepared.precision)[0])
    record.ledger.precision = prepared.precision
    record.ledger.texts = {
        split: text_fingerprint((pair.source, pair.target) for pair in pairs)
        for split, pairs in prepared.corpus.held_out().items()
    }
    record.accept()
    if job.is_first:
        write_file(run_dir / "config.yaml", config_yaml(config))
        keep_seen(run_dir, config, prepared.corpus)
    metrics = train_and_score(fitted, prepared, run_dir, record, job)
    if not job.is_first:
        return {}
    record.save()
    metrics |= {"version": VERSION, "seconds": record.ledger.wall_seconds}
    write_file(run_dir / "metrics.json", encoded(metrics))
    record.ledger.scores = metrics
    return metrics
