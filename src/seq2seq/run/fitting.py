"""The training of a run by Lightning, and what is refused of it: weights that no step has changed, NaN."""

import math
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from hydra_checked.program import frames_of_user, message_of
from seq2seq.common.errors import InputError, NotFinite, TrainingFailed, TrainingInterrupted
from seq2seq.common.progress import announce, warn
from seq2seq.run.building import build
from seq2seq.settings.application import APPLICATION
from seq2seq.settings.config import Settings

if TYPE_CHECKING:
    import lightning.pytorch as pl

    from seq2seq.data.datamodule import Prepared, TranslationDataModule
    from seq2seq.training.module import TranslationModule


def fit(
    trainer: "pl.Trainer", module: "TranslationModule", data: "TranslationDataModule", settings: Settings,
    checkpoint: str | None,
) -> None:  # fmt: skip
    """Train, from a checkpoint if there is one.

    Raises:
        InputError: The checkpoint is of another model or program, or Lightning refuses a value before the first step.
        TrainingFailed: No step has changed the weights.
    """
    from lightning.fabric.utilities.exceptions import MisconfigurationException

    from lightning_exact_resume import fit as fit_or_stop
    from seq2seq.training.resume import in_own_words

    warn_of_slow_precision(trainer)
    announce("training" if checkpoint is None else f"training from {checkpoint}")
    before = squares(module)
    try:
        with trained_by(settings.config), in_own_words():
            start = score_of_start(trainer, module, data, settings)
            fit_or_stop(trainer, module, datamodule=data, ckpt_path=checkpoint, weights_only=True)
    except (TrainingFailed, TrainingInterrupted):
        if trainer.is_global_zero:  # the first process reports what became of all
            raise
        return
    except Exception as error:
        if message_of(APPLICATION, error) is not None or frames_of_user(APPLICATION, error):
            raise
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        modules = [frame.f_globals.get("__name__", "").split(".") for frame in frames]
        if any("checkpoint_connector" in module for module in modules):
            raise InputError(f"{checkpoint} does not fit this configuration: {error!s:.150}") from error
        where = modules[-1]
        # Lightning refuses values before the first step, but for a monitor, of which a callback knows after an epoch
        has_begun = any(frame.f_code.co_name == "advance" for frame in frames) and "callbacks" not in where
        if isinstance(error, MisconfigurationException) or (where[0] == "lightning" and not has_begun):
            raise InputError(f"trainer: {error!s:.400}") from error
        raise
    if not settings.dry:
        is_new = checkpoint is None and settings.config.init_from is None and trainer.is_global_zero
        pairs = zip(before, squares(module), strict=True)
        check_trained(trainer, settings, data.prepared, checkpoint)
        warn_if_worse(trainer, start, f"init_from={settings.config.init_from}")
        if is_new and all(math.isclose(*pair, abs_tol=1e-12) for pair in pairs):
            raise TrainingFailed(
                "no step has changed the weights, so there is no model to keep: see the warnings above, optimizer.lr and "
                "trainer.gradient_clip_val"
            )


def check_trained(
    trainer: "pl.Trainer", settings: Settings, data: "Prepared", checkpoint: str | None
) -> None:
    """Refuse to export weights that no step has trained, and warn of a loss that is no better than guessing.

    Raises:
        InputError: There was no step, and `init_from` names no model whose weights they are.
    """
    config, num_tokens = settings.config, data.target_tokenizer.vocab_size
    if trainer.global_step == 0 and checkpoint is None and config.init_from is None:
        asked = ("max_epochs", "max_steps", "limit_train_batches", "overfit_batches", "max_time")
        given = [
            f"trainer.{key}={config.trainer[key]}" for key in asked if config.trainer.get(key) is not None
        ]
        raise InputError(f"no step was trained, so there is no model to keep: see {', '.join(given)}")
    losses = trainer.callback_metrics
    name = "val/loss" if "val/loss" in losses else "train/loss"
    if name in losses and trainer.is_global_zero and not float(losses[name]) < math.log(num_tokens):
        warn(
            f"the last {name} is {float(losses[name]):.4g} nats per token, no better than guessing one of "
            f"{num_tokens:,} tokens ({math.log(num_tokens):.2f}): lower optimizer.lr, or train longer"
        )


def score_of_start(
    trainer: "pl.Trainer", module: "TranslationModule", data: "TranslationDataModule", settings: Settings
) -> Mapping[str, float]:
    """Return the scores of the model that `init_from` names, on the validation split; none without it."""
    from lightning.pytorch.utilities.seed import isolate_rng

    if settings.config.init_from is None or settings.dry or not trainer.is_global_zero:
        return {}
    alone = {"devices": 1, "num_nodes": 1, "strategy": "auto", "callbacks": [], "logger": False}
    quiet = {"enable_checkpointing": False, "enable_progress_bar": False, "max_time": None, "profiler": None}
    with isolate_rng():
        return build(settings.config.trainer, **alone, **quiet).validate(module, data, verbose=False)[0]


def warn_if_worse(trainer: "pl.Trainer", start: Mapping[str, float], model: str) -> None:
    """Warn if a training has made of a model nothing that is as good, by the score that selects what is kept."""
    from seq2seq.training.kept import judge_of

    if (judge := judge_of(trainer)) is None or judge.monitor not in start:
        return
    first, best = start[judge.monitor], float(judge.best_model_score)
    if first < best if judge.mode == "min" else first > best:
        warn(
            f"{model} is better than what this training has made of it: {judge.monitor} was {first:.4g}, and {best:.4g} at best: "
            "lower optimizer.lr"
        )


def squares(module: "TranslationModule") -> list[float]:
    """Return the sum of the squares of each parameter, by which two states of a training differ."""
    return [float(parameter.detach().double().square().sum()) for parameter in module.parameters()]


def warn_of_slow_precision(trainer: "pl.Trainer") -> None:
    """Warn of bfloat16 on a processor that has no instructions for it."""
    import torch

    processor = torch.cpu.get_capabilities()
    is_slow = processor.get("architecture") == "x86_64" and not processor.get("avx512_bf16")
    if is_slow and trainer.precision.startswith("bf16") and trainer.strategy.root_device.type == "cpu":
        warn(
            f"trainer.precision={trainer.precision}: this processor multiplies bfloat16 in software, some ten times as slowly as "
            "trainer.precision=32-true"
        )


@contextmanager
def trained_by(config: DictConfig) -> Iterator[None]:
    """Name the keys of a training whose model computes NaN; a model of somebody else has damaged weights.

    Raises:
        TrainingFailed: The model of this training computes NaN or infinity.
    """
    try:
        yield
    except InputError as error:
        causes = error, error.__cause__, getattr(error.__cause__, "__cause__", None)
        if not any(isinstance(each, NotFinite) for each in causes):
            raise
        precision = config.trainer.get("precision")
        other = "" if precision in (None, 32, "32", "32-true") else ", or give trainer.precision=32-true"
        raise TrainingFailed(
            f"the model that was trained computes NaN or infinity; the checkpoints before are kept: lower optimizer.lr{other}"
        ) from error
