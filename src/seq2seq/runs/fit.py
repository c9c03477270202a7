"""Lightning's part of a run: the fit itself, from its beginning or from a checkpoint."""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import Logger

from seq2seq.allocator import keep_freed_memory
from seq2seq.config import Config
from seq2seq.experiments.ledger import flat
from seq2seq.plain_text import one_line
from seq2seq.runs.making.by_size import Length
from seq2seq.runs.making.loggers import CSV, CsvLog, rewind_rows
from seq2seq.runs.making.training import (
    build_data,
    build_module,
    build_stop,
    build_trainer,
)
from seq2seq.runs.preparation import PreparedRun
from seq2seq.runs.resuming import continuable
from seq2seq.runs.run_record import RunRecord
from seq2seq.tensorboard.callbacks import log_config
from seq2seq.tensorboard.event_log import EventLog, event_log, rewind_events
from seq2seq.training.checkpoint_io import DurableCheckpointIO
from seq2seq.training.continuing import require_same_form
from seq2seq.training.failures import failures_in_one_line
from seq2seq.training.process_group import ProcessGroup
from seq2seq.training.time_spent import time_shares


@contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Lightning's own lines, and its exit after Ctrl-C, are for a program that is its own."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            # Lightning 2.6 on torch 2.13 warns about its own use of torch's tree functions
            warnings.filterwarnings("ignore", message=r".*LeafSpec", category=FutureWarning)
            # the values that are logged after a validation are the same in all processes
            warnings.filterwarnings("ignore", message=r".*recommended to use .*sync_dist=True.*")
            yield
    except SystemExit as ended:
        if isinstance(ended.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from ended
        raise
    finally:
        logger.setLevel(level)


@_quiet_lightning()
def fit(
    config: Config,
    prepared: PreparedRun,
    run_dir: Path,
    record: RunRecord,
    job: ProcessGroup,
    loggers: list[Logger],
    watchers: Sequence[Callback] = (),
) -> dict[str, Any]:
    """Fit the model, as one of the processes of a job; returns facts of the training.

    Args:
        config: of the run.
        prepared: the run.
        run_dir: its folder.
        record: is told of every validation.
        job: the processes that train together.
        loggers: of `open_loggers`.
        watchers: callbacks that look on.

    Raises:
        TrainingFailed: training cannot go on.
        TrainingInterrupted: a signal stopped the training.
    """
    keep_freed_memory()
    if job.size > 1:
        torch.manual_seed(seed_of(config.seed, job.rank))
    data = build_data(config, prepared.corpus, job)
    length = Length.of(config.trainer, len(data.train_dataloader()))
    module = build_module(config, prepared.exported.model, prepared.corpus, length.num_steps, job)
    point, stop = prepared.resume_point, build_stop(run_dir, job)
    if job.is_first:
        _rewind(run_dir, {} if point is None else point.event_sizes, loggers)
    checkpoint_io = DurableCheckpointIO(record.require_place)
    trainer = build_trainer(
        config,
        run_dir,
        prepared.corpus,
        attends=prepared.exported.model.decoder.attends,
        device=prepared.device,
        precision=prepared.precision,
        length=length,
        record=record,
        conditions=prepared.conditions,
        checkpoint_io=checkpoint_io,
        stop=stop,
        job=job,
        watchers=watchers,
        loggers=loggers,
    )

    def check(path: Path, content: dict[str, Any]) -> None:
        with continuable(path, content):
            require_same_form(content, trainer, module, new_callbacks=config.resume.force)

    checkpoint_io.check = check
    record.ledger.threads = torch.get_num_threads()
    if job.is_first:
        _log_config(trainer, run_dir, record, is_new=point is None)
    if point is not None:
        print(one_line(f"continuing from {point.checkpoint}, step {point.step}"))
    failures = failures_in_one_line(run_dir, lambda: module.guard.shape)
    with failures, stop:
        checkpoint = None if point is None else point.checkpoint
        trainer.fit(module, data, ckpt_path=checkpoint, weights_only=True)
    if prepared.device.type == "cuda":
        record.ledger.peak_device_memory_bytes = torch.cuda.max_memory_allocated(prepared.device)
    facts = {"num_epochs": trainer.current_epoch, "num_steps": trainer.global_step}
    return facts | time_shares(trainer)


def _rewind(run_dir: Path, sizes: Mapping[str, int], loggers: Sequence[Logger]) -> None:
    rewind_events(run_dir, sizes)
    if any(isinstance(logger, CsvLog) for logger in loggers):
        rewind_rows(run_dir, sizes.get(CSV, 0))


def _log_config(trainer: pl.Trainer, run_dir: Path, record: RunRecord, *, is_new: bool) -> None:
    if event_log(trainer) is not None and is_new:
        log_config(trainer, (run_dir / "config.yaml").read_text(encoding="utf-8"))
    for logger in trainer.loggers:
        if not isinstance(logger, EventLog):  # `write_hparams` shows them beside the results
            logger.log_hyperparams(flat(record.ledger.config))


def seed_of(seed: int, rank: int) -> int:
    """The seed of a process's dropout: the processes do not drop the same."""
    return int(np.random.SeedSequence((seed, rank)).generate_state(1)[0])
