"""The Lightning module: the training step, gradient clipping, and the optimizer."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam, Optimizer

from seq2seq.data.batch import Batch
from seq2seq.errors import InputError
from seq2seq.evaluation.metrics import Scorer
from seq2seq.models.build import build_model
from seq2seq.models.limits import LengthLimits
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.training.guided_alignment import GuidedAlignment
from seq2seq.training.losses import LossSums, token_cross_entropy
from seq2seq.training.measures import MeasuredModule
from seq2seq.training.regularization import drop_words, duplicate_batch
from seq2seq.training.schedules import total_steps


class TranslationModule(MeasuredModule):
    """A Lightning module that trains a `Seq2Seq` on batches of `seq2seq.data.Batch`.

    It logs ``train/loss``, ``train/perplexity``, ``train/accuracy``, ``train/lr``, ``train/grad_norm`` and
    ``train/tokens_per_second`` every `log_every_n_steps` optimizer steps, and after each validation
    ``val/loss`` (nats per token, without label smoothing), ``val/perplexity``, ``val/accuracy``, ``val/bleu`` and other
    fast scores of greedy translations, statistics of the attention (``val_attention/…``) and, with gold alignments,
    ``val_alignment/…``. Scores require a `TranslationDataModule`, which has the tokenizers and references.

    Args:
        model: The model, or the arguments of `build_model` as plain data, as stored in a checkpoint.
        optimizer: Factory of the optimizer, called with the parameters; None: Adam.
        scheduler: Factory of the learning rate schedule, called with the optimizer, and with `total_steps` if it
            has an argument of this name; None: a constant learning rate.
        objective: Training objective, called with this module and a batch; returns `LossSums` and attention weights
            (B, T, h, S) or None. Examples: `MinimumRisk`, `ScheduledSampling`. None: cross-entropy with teacher forcing.
        label_smoothing: Share of the label that is distributed uniformly over the vocabulary.
        word_dropout: Probability of replacing an input token by ``<unk>`` in training.
        rdrop_alpha: Weight of the divergence between two dropout masks (R-Drop); 0: no R-Drop.
        guided_alignment_weight: Weight of the loss of the attention weights against gold alignments.
        metrics: Additional scores of greedy translations by name, logged as ``val/NAME``: functions of translations,
            references and the language code.
        max_nonfinite_steps: Number of steps with a NaN or infinite loss or gradient that are skipped before training
            fails.
        trust_custom_code: Whether to import classes of other packages that `model` names, as in
            ``load_from_checkpoint(path, trust_custom_code=True)``.
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
        metrics: Mapping[str, Scorer] | None = None,
        max_nonfinite_steps: int = 0,
        trust_custom_code: bool = False,
    ) -> None:
        if isinstance(optimizer, Optimizer):
            raise InputError("optimizer: give a class or functools.partial(SGD, lr=0.1), not an optimizer")
        super().__init__(metrics, max_nonfinite_steps)
        made = isinstance(model, Seq2Seq)
        self.model = model if made else build_model(**model, trust_custom_code=trust_custom_code)
        self.optimizer_factory, self.scheduler_factory = optimizer or Adam, scheduler
        self.objective = objective
        self.label_smoothing, self.word_dropout, self.rdrop_alpha = label_smoothing, word_dropout, rdrop_alpha
        self.guided_alignment_weight = guided_alignment_weight
        # the arguments of `load_from_checkpoint`
        self.save_hyperparameters(
            {
                "model": self.model.config, "label_smoothing": label_smoothing, "word_dropout": word_dropout,
                "rdrop_alpha": rdrop_alpha, "guided_alignment_weight": guided_alignment_weight,
                "max_nonfinite_steps": max_nonfinite_steps,
            },
            logger=False,
        )  # fmt: skip
        self._guided_alignment: GuidedAlignment | None = None

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Return features (B, T, R) and attention weights (B, T, h, S) of a batch (teacher forcing)."""
        return self.model(batch)

    def cross_entropy(self, batch: Batch, features: Tensor) -> LossSums:
        """Return the training loss of a batch, with label smoothing and R-Drop as configured."""
        return token_cross_entropy(
            features,
            self.model.decoder.output,
            batch.target_output,
            batch.target_is_token,
            label_smoothing=self.label_smoothing,
            rdrop_alpha=self.rdrop_alpha,
        )

    # --- training ---

    def setup(self, stage: str) -> None:
        """Read length limits and gold alignments from the data module."""
        data = getattr(self.trainer, "datamodule", None)
        train = getattr(data, "train", None)
        if train is None:
            self.limits = self.limits or LengthLimits()
            return
        if self.limits is None:
            self.limits = LengthLimits.fitted(train.source.lengths, train.target.lengths)
        if stage == "fit" and self.guided_alignment_weight:
            if not self.model.decoder.has_attention:
                raise InputError("module.guided_alignment_weight needs a decoder with attention")
            if not any(pair.alignment for pair in train.pairs):
                raise InputError("module.guided_alignment_weight needs gold links: set data.alignments")
            self._guided_alignment = GuidedAlignment(train, (data.source_tokenizer, data.target_tokenizer))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the loss of a batch in nats per target token."""
        if self.rdrop_alpha:
            batch = duplicate_batch(batch)
        if self.word_dropout:
            batch = drop_words(batch, self.word_dropout)
        if self.objective is None:
            features, weights = self(batch)
            sums = self.cross_entropy(batch, features)
        else:
            sums, weights = self.objective(self, batch)
        objective = sums.smoothed
        if self._guided_alignment is not None:
            alignment_loss = self._guided_alignment.loss(weights.mean(dim=2), batch)
            objective = objective + self.guided_alignment_weight * alignment_loss
        num_tokens = sums.num_tokens
        if self.trainer.world_size > 1:  # DDP averages gradients: weight each process by its tokens
            num_tokens = self.trainer.strategy.reduce(num_tokens.float(), reduce_op="mean")
        self._sums = self._sums.to(self.device) + sums.stacked()
        loss = objective / num_tokens
        if not loss.isfinite():
            self._count_nonfinite("loss", batch)
            loss = torch.nan_to_num(loss, nan=0.0, posinf=0.0, neginf=0.0) * 0.0
        if (self.trainer.global_step + 1) % self.trainer.log_every_n_steps == 0:
            self._log_training()
        return loss

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the gradients by their L2 norm, store the norm, and skip steps with NaN or infinite gradients."""
        if gradient_clip_algorithm not in (None, "norm"):
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)
            return
        bound = math.inf if gradient_clip_val is None else gradient_clip_val
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self._grad_norm = torch.nn.utils.clip_grad_norm_(parameters, bound)
        scaled = str(self.trainer.precision).startswith("16")  # the gradient scaler skips such steps
        if not scaled and not self._grad_norm.isfinite():
            self._count_nonfinite("gradient", None)
            optimizer.zero_grad(set_to_none=True)  # the optimizer skips parameters without gradient

    def configure_optimizers(self) -> Any:
        """Create the optimizer and its schedule, updated after each step, or after validations (plateau)."""
        try:
            optimizer = self.optimizer_factory(self.parameters())
        except ValueError as error:
            raise InputError(f"optimizer: {error}") from error
        if self.scheduler_factory is None:
            return optimizer
        options = {}
        if "total_steps" in inspect.signature(self.scheduler_factory).parameters:
            options["total_steps"] = total_steps(self.trainer)
        scheduler = self.scheduler_factory(optimizer, **options)
        if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            frequency = self.trainer.check_val_every_n_epoch or 1
            settings = {"interval": "epoch", "frequency": frequency, "monitor": "val/loss"}
        else:
            settings = {"interval": "step"}
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, **settings}}
