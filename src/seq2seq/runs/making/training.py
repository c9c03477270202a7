"""Everything Lightning needs for a run."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import Logger

from seq2seq.config import Averaging, Config, Schedule
from seq2seq.experiments.checkpoints import BEST, LAST
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.runs.making.by_size import Length
from seq2seq.runs.making.callbacks import build_callbacks
from seq2seq.runs.making.lightning_device import lightning_device
from seq2seq.runs.making.loggers import event_sizes
from seq2seq.runs.making.pictures import build_pictures
from seq2seq.runs.making.profiling import build_profiler
from seq2seq.runs.making.text import EncodedCorpus
from seq2seq.runs.run_record import RunRecord, monitor
from seq2seq.tensorboard.event_log import SessionStart, drawing_seconds
from seq2seq.text.bucketing import BatchSize, ShuffledOrders, sorted_order
from seq2seq.text.resampling import Resampling
from seq2seq.training.attention_measures import AttentionMeasures
from seq2seq.training.attention_watch import AttentionWatch
from seq2seq.training.averaging import WeightAverage
from seq2seq.training.checkpoint_io import DurableCheckpointIO
from seq2seq.training.checkpoints import CheckpointContents, KeepBest, KeepLast
from seq2seq.training.datamodule import TranslationData
from seq2seq.training.guidance import build_guidance
from seq2seq.training.history import History
from seq2seq.training.interruption import (
    StopAtStep,
    StopOnSignal,
    StopWithoutProgress,
    requeue_command,
)
from seq2seq.training.module import TranslationModule
from seq2seq.training.optimisation import Optimisation
from seq2seq.training.plateau import PlateauSchedule
from seq2seq.training.process_group import ProcessGroup
from seq2seq.training.progress import ProgressReport
from seq2seq.training.random_state import RandomState
from seq2seq.training.time_spent import TimeSpent


def build_data(config: Config, corpus: EncodedCorpus, job: ProcessGroup) -> TranslationData:
    """This process's share of the batches of the training and the validation split."""
    size = BatchSize(sentences=config.trainer.batch_sentences, tokens=config.trainer.batch_tokens)
    train, validation = corpus.train, corpus.validation
    lengths = validation.source.lengths, validation.target.lengths
    whole = sorted_order(*lengths, _validation_size(config, size), job.size)
    evaluation_order = whole.share(job.rank, job.size)
    return TranslationData(
        train,
        validation,
        train_order=ShuffledOrders(
            train.source.lengths,
            train.target.lengths,
            size,
            seed=config.seed,
            rank=job.rank,
            num_shares=job.size,
        ),
        validation_order=lambda _: evaluation_order,
        resampling=_resampling(config, corpus),
    )


def _validation_size(config: Config, size: BatchSize) -> BatchSize:
    """No larger than batches of training, whose pairs `data.max_length` may keep shorter."""
    longest = config.data.max_length
    if size.tokens is None and size.sentences is not None and longest is not None:
        return replace(size, tokens=2 * (longest + 1) * size.sentences)
    return size


def _resampling(config: Config, corpus: EncodedCorpus) -> Resampling | None:
    if config.data.tokenizer.sampling is None:
        return None
    return Resampling(
        corpus.source_codec,
        corpus.target_codec,
        alpha=config.data.tokenizer.sampling,
        seed=config.seed,
        max_length=config.data.max_length,
    )


def _optimisation(config: Config, num_steps: int) -> Optimisation:
    metric, mode = monitor(config)
    return Optimisation(
        optimiser=config.optim.optimiser.value,
        learning_rate=config.optim.learning_rate,
        weight_decay=config.optim.weight_decay,
        schedule=config.optim.schedule.value,
        warmup_steps=config.optim.warmup_steps,
        total_steps=num_steps,
        final_fraction=config.optim.final_fraction,
        plateau_factor=config.optim.plateau_factor,
        plateau_patience=config.optim.plateau_patience,
        monitor=metric,
        monitor_mode=mode,
    )


def build_module(
    config: Config, model: Seq2Seq, corpus: EncodedCorpus, num_steps: int, job: ProcessGroup
) -> TranslationModule:
    """The Lightning module around a model."""
    codecs = corpus.source_codec, corpus.target_codec
    return TranslationModule(
        model,
        optimisation=_optimisation(config, num_steps),
        label_smoothing=config.optim.label_smoothing,
        word_dropout=config.optim.word_dropout,
        r_drop=config.optim.r_drop,
        guidance=build_guidance(config.optim.guidance, corpus.train, *codecs),
        gradient_clip=config.trainer.gradient_clip,
        log_every=config.trainer.log_every,
        skip_nonfinite=config.trainer.skip_nonfinite,
        validation=corpus.validation,
        target_codec=corpus.target_codec,
        bounds=corpus.bounds,
        attention_measures=AttentionMeasures(corpus.validation, *codecs),
        job=job,
    )


def build_trainer(
    config: Config,
    run_dir: Path,
    corpus: EncodedCorpus,
    *,
    attends: bool,
    device: torch.device,
    precision: str,
    length: Length,
    record: RunRecord,
    conditions: dict[str, Any],
    checkpoint_io: DurableCheckpointIO,
    stop: StopOnSignal,
    job: ProcessGroup,
    watchers: Sequence[Callback],
    loggers: list[Logger],
) -> pl.Trainer:
    """The Lightning trainer of a run folder.

    Args:
        config: of the run.
        run_dir: folder of the run.
        corpus: of the run.
        attends: whether there is attention to look at.
        device: where to compute.
        precision: of `build_precision`.
        length: of the whole training.
        record: is told of every validation.
        conditions: what the checkpoints are to remember of the run, see `conditions_of`.
        checkpoint_io: writes and reads the checkpoints.
        stop: listens for signals.
        job: the processes that train together.
        watchers: callbacks that look on; they see of a validation what it has measured.
        loggers: of `open_loggers`.
    """
    pictures = build_pictures(config, run_dir.name, corpus, attends=attends) if job.is_first else []
    return pl.Trainer(
        **lightning_device(config.device, device, precision, job),
        use_distributed_sampler=False,  # `Order.share` is ours
        max_epochs=length.num_epochs,
        accumulate_grad_batches=config.trainer.accumulate,
        check_val_every_n_epoch=length.validate_every,
        log_every_n_steps=1,  # the module itself logs at its interval
        num_sanity_val_steps=0,
        logger=loggers,
        profiler=build_profiler(run_dir) if config.trainer.profile and job.is_first else None,
        plugins=[checkpoint_io],
        enable_checkpointing=False,  # ours are among the callbacks
        callbacks=[
            TimeSpent(lambda: drawing_seconds(loggers)),
            RandomState(job),
            SessionStart(),
            ProgressReport(total_steps=length.num_steps, monitored=config.trainer.monitor),
            *([AttentionWatch()] if attends else []),
            History(record.add_validation),
            *watchers,
            *pictures,
            *_averaging(config),
            *_endings(config, length.num_steps),
            *build_callbacks(config.trainer.callbacks, run_dir),
            CheckpointContents(
                {"conditions": lambda: conditions, "events": lambda: event_sizes(loggers)}
            ),
            *_checkpoints(config, run_dir / "checkpoints"),
            stop,
        ],
        enable_progress_bar=False,  # ours is among the callbacks
        enable_model_summary=False,
    )


def _averaging(config: Config) -> list[Callback]:
    if config.optim.averaging is Averaging.none:
        return []
    return [
        WeightAverage(
            config.optim.averaging.value,
            decay=config.optim.ema_decay,
            first_epoch=config.optim.average_from_epoch,
        )
    ]


def _endings(config: Config, num_steps: int) -> list[Callback]:
    """What a validation decides of the training: to slow down, or to stop."""
    metric, mode = monitor(config)
    callbacks: list[Callback] = []
    if (patience := config.trainer.early_stopping) is not None:
        callbacks.append(StopWithoutProgress(metric, mode=mode, patience=patience))
    if config.optim.schedule is Schedule.plateau:
        callbacks.append(PlateauSchedule(_optimisation(config, num_steps)))
    if config.trainer.max_steps is not None:
        callbacks.append(StopAtStep(config.trainer.max_steps))
    return callbacks


def build_stop(run_dir: Path, job: ProcessGroup) -> StopOnSignal:
    """What listens for signals."""
    requeue = requeue_command(os.environ)
    return StopOnSignal(run_dir / "checkpoints" / LAST, requeue=requeue, job=job)


def _checkpoints(config: Config, folder: Path) -> list[Callback]:
    """The best model by validation, if validation chooses it, and the last of every epoch."""
    last = KeepLast(folder / LAST, every=config.trainer.checkpoint_every)
    if config.trainer.monitor == "last":
        return [last]
    metric, mode = monitor(config)
    return [KeepBest(folder / BEST, monitor=metric, mode=mode), last]
