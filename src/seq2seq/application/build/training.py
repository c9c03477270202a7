"""Everything Lightning needs for a run."""

from pathlib import Path

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint

from seq2seq.application.build.decoding import build_search
from seq2seq.application.build.text import EncodedCorpus
from seq2seq.application.run_record import RunRecord, monitor
from seq2seq.config import Averaging, Config, Monitor
from seq2seq.decoding.beam import beam_search
from seq2seq.decoding.greedy import greedy_search
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.tensorboard.attention_panel import choose_panel
from seq2seq.tensorboard.callbacks import (
    AttentionHeatmaps,
    AttentionRecords,
    PanelSearch,
    TranslationSamples,
)
from seq2seq.tensorboard.event_log import EventLog, SessionStart
from seq2seq.text.bucketing import BatchSize, shuffled_order, sorted_order
from seq2seq.text.datamodule import TranslationData
from seq2seq.text.resampling import Resampling
from seq2seq.training.attention_measures import AttentionMeasures
from seq2seq.training.attention_watch import AttentionWatch
from seq2seq.training.averaging import WeightAverage
from seq2seq.training.history import History
from seq2seq.training.interruption import StopAtStep, StopOnSignal
from seq2seq.training.module import TranslationModule
from seq2seq.training.optimisation import Optimisation
from seq2seq.training.progress import ProgressReport
from seq2seq.training.random_state import RandomState
from seq2seq.training.time_spent import TimeSpent

PRECISIONS = {"fp32": "32-true", "bf16-mixed": "bf16-mixed", "fp16-mixed": "16-mixed"}


def build_data(config: Config, corpus: EncodedCorpus) -> TranslationData:
    """Batches of the training and the validation split."""
    size = BatchSize(sentences=config.trainer.batch_sentences, tokens=config.trainer.batch_tokens)
    train, validation = corpus.train, corpus.validation
    source_lengths, target_lengths = train.source.lengths, train.target.lengths
    evaluation_order = sorted_order(validation.source.lengths, validation.target.lengths, size)
    return TranslationData(
        train,
        validation,
        train_order=lambda epoch: shuffled_order(
            source_lengths, target_lengths, size, seed=config.seed, epoch=epoch
        ),
        validation_order=lambda _: evaluation_order,
        resampling=_resampling(config, corpus),
    )


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


def total_steps(config: Config, batches_per_epoch: int) -> int:
    """Optimiser steps of the whole training."""
    steps_per_epoch = -(-batches_per_epoch // config.trainer.accumulate)
    steps = config.trainer.max_epochs * steps_per_epoch
    return min(steps, config.trainer.max_steps or steps)


def build_module(
    config: Config, model: Seq2Seq, corpus: EncodedCorpus, num_steps: int
) -> TranslationModule:
    """The Lightning module around a model."""
    metric, mode = monitor(config)
    optimisation = Optimisation(
        optimiser=config.optim.optimiser.value,
        learning_rate=config.optim.learning_rate,
        weight_decay=config.optim.weight_decay,
        schedule=config.optim.schedule.value,
        warmup_steps=config.optim.warmup_steps,
        total_steps=num_steps,
        final_fraction=config.optim.final_fraction,
        plateau_factor=config.optim.plateau_factor,
        plateau_patience=config.optim.plateau_patience,
        validate_every=config.trainer.validate_every,
        monitor=metric,
        monitor_mode=mode,
    )
    return TranslationModule(
        model,
        optimisation=optimisation,
        label_smoothing=config.optim.label_smoothing,
        word_dropout=config.optim.word_dropout,
        r_drop=config.optim.r_drop,
        gradient_clip=config.trainer.gradient_clip,
        log_every=config.trainer.log_every,
        validation=corpus.validation,
        target_codec=corpus.target_codec,
        attention_measures=AttentionMeasures(
            corpus.validation, corpus.source_codec, corpus.target_codec
        ),
    )


def build_trainer(
    config: Config,
    run_dir: Path,
    corpus: EncodedCorpus,
    *,
    device: torch.device,
    precision: str,
    num_steps: int,
    record: RunRecord,
) -> pl.Trainer:
    """The Lightning trainer of a run folder, at a precision of `build_precision`."""
    event_log = EventLog(run_dir)
    return pl.Trainer(
        accelerator={"cuda": "gpu"}.get(device.type, device.type),
        devices=config.device.devices,
        precision=PRECISIONS[precision],  # type: ignore[arg-type]
        max_epochs=config.trainer.max_epochs,
        accumulate_grad_batches=config.trainer.accumulate,
        check_val_every_n_epoch=config.trainer.validate_every,
        log_every_n_steps=1,  # the module itself logs at its interval
        num_sanity_val_steps=0,
        logger=event_log,
        callbacks=[
            TimeSpent(lambda: event_log.seconds),
            *_callbacks(config, run_dir, corpus, num_steps, record),
        ],
        enable_progress_bar=False,  # ours is among the callbacks
        enable_model_summary=False,
    )


def _callbacks(
    config: Config, run_dir: Path, corpus: EncodedCorpus, num_steps: int, record: RunRecord
) -> list[Callback]:
    metric, mode = monitor(config)
    callbacks: list[Callback] = [
        RandomState(),
        SessionStart(),
        ProgressReport(total_steps=num_steps),
        AttentionWatch(),
        History(record.add_validation),
        TranslationSamples(corpus.validation, count=config.tensorboard.samples),
        AttentionHeatmaps(
            corpus.validation,
            source_vocabulary=corpus.source_codec.vocabulary,
            target_vocabulary=corpus.target_codec.vocabulary,
            count=config.tensorboard.heatmaps,
            title=run_dir.name,
        ),
        _records(config, corpus),
    ]
    if config.optim.averaging is not Averaging.none:
        callbacks.append(
            WeightAverage(
                config.optim.averaging.value,
                decay=config.optim.ema_decay,
                first_epoch=config.optim.average_from_epoch,
            )
        )
    if config.trainer.early_stopping is not None:
        callbacks.append(EarlyStopping(metric, mode=mode, patience=config.trainer.early_stopping))
    if config.trainer.max_steps is not None:
        callbacks.append(StopAtStep(config.trainer.max_steps))
    return [
        *callbacks,
        *_checkpoints(config, run_dir / "checkpoints"),
        StopOnSignal(run_dir / "checkpoints" / "last.ckpt"),
    ]


def _records(config: Config, corpus: EncodedCorpus) -> AttentionRecords:
    """Attention of the panel: teacher-forced, and of every search that is named here."""
    panel = choose_panel(
        corpus.validation,
        source_codec=corpus.source_codec,
        target_codec=corpus.target_codec,
        first=config.tensorboard.panel.first,
        indices=config.tensorboard.panel.indices,
        texts=config.tensorboard.panel.texts,
    )
    return AttentionRecords(
        panel,
        source_codec=corpus.source_codec,
        target_codec=corpus.target_codec,
        searches=_searches(config),
    )


def _searches(config: Config) -> dict[str, PanelSearch]:
    """The searches whose attention is recorded: greedy, and the beam that scores the model."""
    searches: dict[str, PanelSearch] = {
        "greedy": lambda model, source: [[found] for found in greedy_search(model, source)]
    }
    search = build_search(config.decoding)
    if search.beam > 1:
        searches["beam"] = lambda model, source: beam_search(
            model,
            source,
            size=search.beam,
            num_best=search.beam,
            penalty=search.penalty,
            bounds=search.bounds,
        )
    return searches


def _checkpoints(config: Config, folder: Path) -> list[Callback]:
    """The best model by validation, if validation chooses it, and the last of every epoch.

    (Lightning's own `save_last` writes only when there is a new best.)
    """
    last = ModelCheckpoint(
        folder, filename="last", save_on_train_epoch_end=True, enable_version_counter=False
    )
    if config.trainer.monitor is Monitor.last:
        return [last]
    metric, mode = monitor(config)
    best = ModelCheckpoint(
        folder, filename="best", monitor=metric, mode=mode, enable_version_counter=False
    )
    return [best, last]
