"""The Lightning module: the training step, the optimizer, and the scores of validations."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_value_, clip_grads_with_norm_, get_total_norm
from torch.optim import Adam, Optimizer

from seq2seq.attention.masking import length_mask
from seq2seq.common.arguments import without_unknown
from seq2seq.data.batch import Batch
from seq2seq.data.datamodule import prepared_of
from seq2seq.decoding.greedy import greedy_search
from seq2seq.errors import InputError
from seq2seq.models.build import build_model
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.training.losses import LossSums, StepMean, token_cross_entropy
from seq2seq.training.metrics import SplitScores
from seq2seq.training.objectives import rdrop_cross_entropy, with_options
from seq2seq.training.schedules import Schedule
from seq2seq.training.training_sums import ResumableModule, TrainingSums


class TranslationModule(ResumableModule):
    """A Lightning module that trains a `Seq2Seq` on batches of `seq2seq.data.Batch`.

    The gradient of an optimizer step is that of the mean over all target tokens of the step, whatever the batches,
    ``accumulate_grad_batches`` and processes.

    It logs ``train/loss``, ``train/perplexity``, ``train/token_accuracy``, ``train/lr``, ``train/total_norm`` and
    ``train/tokens_per_second`` every `log_every_n_steps` optimizer steps, once an epoch at least, and after each validation
    ``val/loss`` (nats per token, without label smoothing), ``val/perplexity``, ``val/token_accuracy`` and, of a
    `TranslationDataModule`, fast scores of greedy translations (``val/bleu``, …), of the attention (``val_attention/…``) and
    of its links (``val_alignment/…``).
    The attribute `scores` has the sums of the latest validation, and its translations.

    Args:
        model: The model, or the arguments of `build_model` as plain data, as stored in a checkpoint.
        optimizer: Factory of the optimizer, called with the parameters; None: Adam.
        scheduler: Factory of the learning-rate schedule, called with the optimizer, and `total_steps` if it has this
            argument; None: a constant rate.
        objective: Training objective, called with this module and a batch; returns `LossSums` of the batch and
            attention weights (B, T, h, S) or None. A step minimizes the sum of their `objective` divided by the sum of
            their `num_tokens`. Examples: `MinimumRisk`, `ScheduledSampling`. None: the method `teacher_forcing`.
        label_smoothing: Share of the label that is distributed uniformly over the vocabulary.
        word_dropout: Probability of replacing an input token by ``<unk>`` in training.
        rdrop_alpha: Weight of R-Drop: pairs pass twice, and the divergence of the two predictions is added; 0: once.
        guided_alignment_weight: Weight of the loss of the attention weights against the corpus' links between words.
        metrics: Your own scores of greedy translations by name, as ``val/NAME``, see `seq2seq.evaluation.own_scores`.
        max_nonfinite_steps: Number of steps with NaN or infinite loss or gradient to leave out before training fails.
        limits: Length limits of translations; None: `setup` derives them from the training split.
        trust_custom_code: Whether to import classes of other packages that `model` names.

    Examples:
        >>> from functools import partial
        >>> from lightning.pytorch import Trainer
        >>> from seq2seq.attention import AdditiveScore, Attention
        >>> from seq2seq.data import PairsCorpus
        >>> from seq2seq.models import BahdanauDecoder, GRUEncoder
        >>> data = PairsCorpus(train=[("a b", "B A"), ("b", "B")], validation=[("a", "A")])
        >>> encoder, attention = partial(GRUEncoder, hidden_size=8), partial(Attention, score=AdditiveScore)
        >>> decoder = partial(BahdanauDecoder, attention=attention)
        >>> source, target = (tokenizer.vocab_size for tokenizer in data.tokenizers)
        >>> model = build_model(encoder=encoder, decoder=decoder, source_vocab_size=source, target_vocab_size=target)
        >>> module = TranslationModule(model, partial(Adam, lr=0.01), label_smoothing=0.1)
        >>> quiet = dict.fromkeys(["logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"], False)
        >>> trainer = Trainer(max_epochs=2, log_every_n_steps=1, accelerator="cpu", **quiet)
        >>> trainer.fit(module, data)
        >>> trainer.global_step, "val/bleu" in trainer.callback_metrics
        (2, True)
    """

    def __init__(
        self,
        model: Seq2Seq | Mapping[str, Any],
        optimizer: Callable[..., Optimizer] | None = None,
        scheduler: Callable[..., Any] | None = None,
        *,
        objective: Callable[["TranslationModule", Batch], tuple[LossSums, Tensor | None]] | None = None,
        label_smoothing: float = 0.0,
        word_dropout: float = 0.0,
        rdrop_alpha: float = 0.0,
        guided_alignment_weight: float = 0.0,
        metrics: Mapping[str, Any] | None = None,
        max_nonfinite_steps: int = 0,
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
        self.metrics, self.scores = metrics or {}, SplitScores()
        self.loss = partial(token_cross_entropy, label_smoothing=label_smoothing)
        if rdrop_alpha:
            self.loss = partial(rdrop_cross_entropy, label_smoothing=label_smoothing, alpha=rdrop_alpha)
        objective = objective or type(self).teacher_forcing
        self.objective = with_options(objective, word_dropout, rdrop_alpha, guided_alignment_weight)
        self.limits, self._fits_limits = limits or DEFAULT_LIMITS, limits is None
        self.step_mean, self.schedule = StepMean(), Schedule(scheduler)
        self.training_sums = TrainingSums(self.step_mean, max_nonfinite_steps)
        arguments = {
            "model": model.config, "label_smoothing": label_smoothing, "word_dropout": word_dropout,
            "rdrop_alpha": rdrop_alpha, "guided_alignment_weight": guided_alignment_weight,
            "max_nonfinite_steps": max_nonfinite_steps,
        }  # fmt: skip
        self.save_hyperparameters(arguments, logger=False)  # for `load_from_checkpoint`

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Return features (B, T, R) and attention weights (B, T, h, S) of a batch (teacher forcing)."""
        return self.model(batch)

    def setup(self, stage: str) -> None:
        """Read length limits from the data module."""
        data = prepared_of(self.trainer)
        if data is not None:
            fitted = LengthLimits.fitted(data.train.source.lengths, data.train.target.lengths)
            self.limits = fitted if self._fits_limits else replace(self.limits, max_source=fitted.max_source)

    # --- training ---

    def teacher_forcing(self, batch: Batch) -> tuple[LossSums, Tensor | None]:
        """Return the cross-entropy of the reference tokens, each after those before it, and the attention weights."""
        features, weights = self(batch)
        return self.cross_entropy(batch, features), weights

    def cross_entropy(self, batch: Batch, features: Tensor) -> LossSums:
        """Return the training loss of a batch, with label smoothing and R-Drop as configured."""
        is_token = length_mask(batch.target_lengths, batch.target_output.shape[1])
        return self.loss(features, self.model.decoder.output, batch.target_output, is_token)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the objective of a batch, as its part of the mean over all target tokens of the optimizer step."""
        sums, _ = self.objective(self, batch)  # without objective and options, this is `teacher_forcing`
        return self.step_mean.add(batch_idx, sums, self)

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the gradient as the trainer says, and leave the step out if it is NaN or infinite."""
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        norm = get_total_norm([each.grad for each in parameters if each.grad is not None])
        if gradient_clip_val and gradient_clip_algorithm == "value":
            clip_grad_value_(parameters, gradient_clip_val)
        elif gradient_clip_val:  # Lightning's own clipping refuses fused optimizers
            clip_grads_with_norm_(parameters, gradient_clip_val, norm)
        self.step_sums = torch.stack(
            [*self.step_mean.sums, norm]
        ).cpu()  # the only values that a step waits for
        if not self.step_sums.isfinite().all():
            optimizer.zero_grad(set_to_none=True)  # the optimizer skips parameters without gradient

    def optimizer_step(self, *inputs: Any, **options: Any) -> None:
        """Make a step: `training_step`, its backward pass, `configure_gradient_clipping`, the optimizer; and log it."""
        super().optimizer_step(*inputs, **options)
        self.log_dict(self.training_sums.end_step(self.step_sums, self.trainer))

    def configure_optimizers(self) -> Any:
        """Create the optimizer and its schedule."""
        try:
            optimizer = self.optimizer_factory(self.parameters())
        except (ValueError, RuntimeError) as error:
            raise InputError(f"optimizer: {error}") from error
        return {"optimizer": optimizer} | self.schedule.configuration(optimizer, self.trainer)

    # --- validation, and the same for `Trainer.test` ---

    def on_validation_epoch_start(self) -> None:
        """Start with sums of zero."""
        self.scores.start(self.trainer)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add loss, attention and greedy translations of a batch."""
        features, weights = self(batch)
        is_token = length_mask(batch.target_lengths, batch.target_output.shape[1])
        losses = token_cross_entropy(features, self.model.decoder.output, batch.target_output, is_token)
        self.scores.add(batch, losses, weights)
        if self.scores.has_texts:  # tokenizers and references
            self.scores.add_translations(batch, greedy_search(self.model, batch.source, limits=self.limits))

    def on_validation_epoch_end(self) -> None:
        """Log the scores of the split."""
        self.log_dict(self.scores.end(self.trainer, self.metrics))

    on_test_epoch_start, test_step = on_validation_epoch_start, validation_step
    on_test_epoch_end = on_validation_epoch_end
