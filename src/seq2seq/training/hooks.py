"""What a module is made of, and what Lightning calls around its steps: checkpoints, logs, the scores of a validation."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback, WeightAveraging
from torch import Tensor
from torch.optim import Adam, Optimizer

from lightning_exact_resume import ParameterGroups, Schedule, callbacks_of
from seq2seq.common.errors import InputError
from seq2seq.common.named import tell_unknown, without_unknown
from seq2seq.common.numbers import Dropout, NotNegative, Weight
from seq2seq.data.batch import Batch
from seq2seq.data.datamodule import prepared_of
from seq2seq.models.build import build_model
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.training.losses import LossSums, StepMean
from seq2seq.training.metrics import SplitScores
from seq2seq.training.objectives import ObjectiveWithOptions
from seq2seq.training.training_sums import TrainingSums


class Unscaling(Callback):
    """Takes the scale of float16 from the gradient of a fused optimizer before it is clipped; Lightning does it for others."""

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: Optimizer
    ) -> None:
        """Divide the gradient by the scale."""
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        if scaler is not None and optimizer.defaults.get("fused"):
            scaler.unscale_(optimizer)


STORED = "label_smoothing", "word_dropout", "guided_alignment_weight", "max_nonfinite_steps"
"""Arguments that a checkpoint holds, with those of the model."""


class ConfiguredModule(pl.LightningModule):
    """A Lightning module without its steps, which are those of `TranslationModule`.

    It logs ``train/loss``, ``train/perplexity``, ``train/token_accuracy``, ``train/lr``, ``train/total_norm`` and
    ``train/tokens_per_second`` every `log_every_n_steps` optimizer steps, once an epoch at least, and after each validation
    ``val/loss`` (nats per token, without label smoothing), ``val/perplexity``, ``val/token_accuracy`` and, of a
    `TranslationDataModule`, fast scores of greedy translations (``val/bleu``, …) and of the links of the attention
    (``val_alignment/…``).

    Args:
        model: The model, or the arguments of `build_model` as plain data, as stored in a checkpoint.
        optimizer: Factory of the optimizer, called with the parameters; None: Adam. Its keywords `groups` and
            `decay_vectors` are those of `ParameterGroups`.
        scheduler: Factory of the learning-rate schedule, called with the optimizer, and `total_steps` if it has this
            argument; None: a constant rate.
        objective: Training objective, called with this module and a batch; returns `LossSums` of the batch and
            attention weights (B, T, h, S) or None. Examples: `MinimumRisk`, `ScheduledSampling`. None: `teacher_forcing`.
        label_smoothing: Share of the label that is distributed uniformly over the vocabulary.
        word_dropout: Probability of replacing an input token by ``<unk>`` in training.
        guided_alignment_weight: Weight of the loss of the attention weights against the corpus' links between words.
        metrics: Your own scores of greedy translations by name, as ``val/NAME``, see `seq2seq.evaluation.own_scores`.
        max_nonfinite_steps: Number of steps with NaN or infinite loss or gradient to leave out before training fails.
        limits: Length limits of translations; None: `setup` derives them from the training split.
        trust_custom_code: Whether to import classes of other packages that `model` names.
    """

    teacher_forcing: Callable[..., tuple[LossSums, Tensor | None]]
    step_sums: Tensor  # of the latest step, and the norm of its gradient (5,)

    def __init__(
        self,
        model: Seq2Seq | Mapping[str, Any],
        optimizer: Callable[..., Optimizer] | None = None,
        scheduler: Callable[..., Any] | None = None,
        *,
        objective: Callable[[Any, Batch], tuple[LossSums, Tensor | None]] | None = None,
        label_smoothing: Dropout = 0.0,
        word_dropout: Dropout = 0.0,
        guided_alignment_weight: Weight = 0.0,
        metrics: Mapping[str, Any] | None = None,
        max_nonfinite_steps: NotNegative = 0,
        limits: LengthLimits | None = None,
        trust_custom_code: bool = False,
    ) -> None:
        if isinstance(optimizer, Optimizer):
            raise InputError("optimizer: give a class or functools.partial(SGD, lr=0.1), not an optimizer")
        super().__init__()
        if not isinstance(model, Seq2Seq):
            arguments = without_unknown(build_model, model, "the checkpoint")
            model = build_model(**arguments, trust_custom_code=trust_custom_code)
        self.model, self.optimizer_factory = model, optimizer or Adam
        self.optimizer_factory = ParameterGroups.taken_from(self.optimizer_factory)
        self.limits, self._fits_limits = limits or DEFAULT_LIMITS, limits is None
        self.metrics, self.scores = metrics or {}, SplitScores()
        self.label_smoothing: float = label_smoothing
        self.objective = objective or type(self).teacher_forcing
        if word_dropout or guided_alignment_weight:
            self.objective = ObjectiveWithOptions(self.objective, word_dropout, guided_alignment_weight)
        self.step_mean, self.schedule = StepMean(), Schedule(scheduler)
        self.training_sums = TrainingSums(self.step_mean, max_nonfinite_steps)
        self.save_hyperparameters(*STORED, logger=False)  # for `load_from_checkpoint`
        self.hparams["model"] = model.config

    def setup(self, stage: str) -> None:
        """Read length limits from the data module."""
        data = prepared_of(self.trainer)
        if data is not None:
            fitted = LengthLimits.fitted(data.train.source.lengths, data.train.target.lengths)
            self.limits = fitted if self._fits_limits else replace(self.limits, max_source=fitted.max_source)

    def configure_callbacks(self) -> list[Callback]:
        """Let the sums and the schedule save and restore themselves in checkpoints, once in a trainer."""
        present, scaled = callbacks_of(self.trainer), str(self.trainer.precision).startswith("16")
        parts = self.training_sums, self.schedule, self.optimizer_factory, *([Unscaling()] if scaled else [])
        return [part for part in parts if isinstance(part, Callback) and part not in present]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Name arguments that this class does not have, and go on from the weights that the optimizer has reached.

        Lightning leaves such arguments out without a line. Where the checkpoint's training averages weights and this one
        does not, or not in that way, an average of this training begins with them.
        """
        tell_unknown(type(self), checkpoint.get("hyper_parameters", {}), "the checkpoint")
        with suppress(RuntimeError):  # without a trainer, the averaged weights are wanted
            averages = [each for each in callbacks_of(self.trainer) if isinstance(each, WeightAveraging)]
            is_known = any(each.state_key in checkpoint.get("callbacks", {}) for each in averages)
            if "current_model_state" in checkpoint and self.trainer.training and not is_known:
                checkpoint["state_dict"] = checkpoint.pop("current_model_state")

    def optimizer_step(self, *inputs: Any, **options: Any) -> None:
        """Make a step, and log it."""
        super().optimizer_step(*inputs, **options)
        self.log_dict(self.training_sums.end_step(self.step_sums, self.trainer))

    def on_validation_epoch_start(self) -> None:
        """Start with sums of zero."""
        self.scores.start(self.trainer)

    def on_validation_epoch_end(self) -> None:
        """Log the scores of the split."""
        self.log_dict(self.scores.end(self.trainer, self.metrics))

    on_test_epoch_start, on_test_epoch_end = on_validation_epoch_start, on_validation_epoch_end
