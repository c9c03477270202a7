"""The Lightning module: the training step, its gradient, the optimizer, and the scores of validations."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor
from torch.optim import Adam, Optimizer

from seq2seq.common.arguments import without_unknown
from seq2seq.data.batch import Batch
from seq2seq.data.datamodule import prepared_of
from seq2seq.decoding.greedy import greedy_search
from seq2seq.errors import InputError
from seq2seq.evaluation.attention_statistics import AttentionStatistics
from seq2seq.models.build import build_model
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.training.gold_pairs import GoldPairs
from seq2seq.training.losses import LossSums, token_cross_entropy
from seq2seq.training.metrics import SplitSums
from seq2seq.training.objectives import GuidedAlignment, objective_of
from seq2seq.training.schedules import forget_arguments, scheduled, total_steps_for
from seq2seq.training.training_sums import TrainingSums


class TranslationModule(pl.LightningModule):
    """A Lightning module that trains a `Seq2Seq` on batches of `seq2seq.data.Batch`.

    The gradient of an optimizer step is that of the mean over all target tokens of the step, whatever the batches,
    ``accumulate_grad_batches`` and processes.

    It logs ``train/loss``, ``train/perplexity``, ``train/token_accuracy``, ``train/lr``, ``train/total_norm`` and
    ``train/tokens_per_second`` every `log_every_n_steps` optimizer steps, and after each validation
    ``val/loss`` (nats per token, without label smoothing), ``val/perplexity``, ``val/token_accuracy``, ``val/bleu`` and other
    fast scores of greedy translations, statistics of the attention (``val_attention/…``) and, with gold alignments,
    ``val_alignment/…``. Scores require a `TranslationDataModule`, which has the tokenizers and references.

    Args:
        model: The model, or the arguments of `build_model` as plain data, as stored in a checkpoint.
        optimizer: Factory of the optimizer, called with the parameters; None: Adam.
        scheduler: Factory of the learning rate schedule, called with the optimizer, and with `total_steps` if it
            has an argument of this name; None: a constant learning rate.
        objective: Training objective, called with this module and a batch; returns `LossSums` of the batch and
            attention weights (B, T, h, S) or None. A step minimizes the sum of their `objective` divided by the sum of
            their `num_tokens`. Examples: `MinimumRisk`, `ScheduledSampling`. None: cross-entropy with teacher forcing.
        label_smoothing: Share of the label that is distributed uniformly over the vocabulary.
        word_dropout: Probability of replacing an input token by ``<unk>`` in training.
        rdrop_alpha: Weight of the divergence between two dropout masks (R-Drop); 0: no R-Drop.
        guided_alignment_weight: Weight of the loss of the attention weights against gold alignments.
        metrics: Your own scores of greedy translations by name, logged as ``val/NAME``: functions and objects, see
            `seq2seq.evaluation.own_scores`.
        max_nonfinite_steps: Number of steps with a NaN or infinite loss or gradient that are skipped before training
            fails.
        limits: Length limits of translations; None: `setup` derives them from the training split.
        trust_custom_code: Whether to import classes of other packages that `model` names, as in
            ``load_from_checkpoint(path, trust_custom_code=True)``.

    Examples:
        >>> from functools import partial
        >>> from lightning.pytorch import Trainer
        >>> from seq2seq.attention import AdditiveScore, Attention
        >>> from seq2seq.data import PairsCorpus
        >>> from seq2seq.models import BahdanauDecoder, GRUEncoder
        >>> data = PairsCorpus(train=[("a b", "B A"), ("b", "B")], validation=[("a", "A")])
        >>> model = build_model(
        ...     encoder=partial(GRUEncoder, hidden_size=8),
        ...     decoder=partial(BahdanauDecoder, attention=partial(Attention, score=AdditiveScore)),
        ...     source_vocab_size=data.prepared.source_tokenizer.vocab_size,
        ...     target_vocab_size=data.prepared.target_tokenizer.vocab_size,
        ... )
        >>> module = TranslationModule(model, partial(Adam, lr=0.01), label_smoothing=0.1)
        >>> quiet = dict.fromkeys(["logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"], False)
        >>> trainer = Trainer(max_epochs=2, log_every_n_steps=1, accelerator="cpu", **quiet)
        >>> trainer.fit(module, data)
        >>> trainer.global_step, "val/bleu" in trainer.callback_metrics
        (2, True)

    Attributes:
        limits: Length limits of translations.
        translations: Greedy translations of the latest validation, by the index of the pair in its split.
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
        self.model = model
        self.optimizer_factory, self.scheduler_factory = optimizer or Adam, scheduler
        self.label_smoothing, self.word_dropout, self.rdrop_alpha = label_smoothing, word_dropout, rdrop_alpha
        self.objective, self.guided_alignment_weight = objective, guided_alignment_weight
        self.metrics = metrics or {}
        # the arguments of `load_from_checkpoint`
        self.save_hyperparameters(
            {
                "model": self.model.config, "label_smoothing": label_smoothing, "word_dropout": word_dropout,
                "rdrop_alpha": rdrop_alpha, "guided_alignment_weight": guided_alignment_weight,
                "max_nonfinite_steps": max_nonfinite_steps,
            },
            logger=False,
        )  # fmt: skip
        self.guided_alignment: GuidedAlignment | None = None
        self.limits, self._fits_limits = limits or DEFAULT_LIMITS, limits is None
        self.translations: dict[int, str] = {}
        self._total_steps: int | None = None  # of the schedule
        self._sums = TrainingSums(max_nonfinite_steps, 2 if rdrop_alpha else 1)
        self._gold: dict[str, GoldPairs] = {}

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Return features (B, T, R) and attention weights (B, T, h, S) of a batch (teacher forcing)."""
        return self.model(batch)

    def cross_entropy(self, batch: Batch, features: Tensor) -> LossSums:
        """Return the training loss of a batch, with label smoothing and R-Drop as configured."""
        return token_cross_entropy(
            features, self.model.decoder.output, batch.target_output, batch.target_is_token,
            label_smoothing=self.label_smoothing, rdrop_alpha=self.rdrop_alpha,
        )  # fmt: skip

    def setup(self, stage: str) -> None:
        """Read length limits and gold alignments from the data module."""
        data = prepared_of(self.trainer)
        if data is not None and self._fits_limits:
            self.limits = LengthLimits.fitted(data.train.source.lengths, data.train.target.lengths)
        if data is not None and stage == "fit" and self.guided_alignment_weight:
            self.guided_alignment = GuidedAlignment.of(self.model, data)

    # --- training ---

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the objective of a batch, in proportion to its sum over the target tokens."""
        if batch_idx % self.trainer.accumulate_grad_batches == 0:
            self._sums.start_step()
        return self._sums.add(objective_of(self, batch), batch.sentence_ids)

    def optimizer_step(  # type: ignore[override]  # Lightning's loop gives these four
        self, epoch: int, batch_idx: int, optimizer: Optimizer, optimizer_closure: Callable[[], Any]
    ) -> None:
        """Make a step with the gradient of the mean over all its target tokens."""

        def closure() -> Any:
            loss = optimizer_closure()  # adds the gradient of the last batch of the step
            self._sums.average_gradient(parameters_of(optimizer), self.trainer)
            return loss

        super().optimizer_step(epoch, batch_idx, optimizer, closure)

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the gradient, leave the step out if it is NaN or infinite, and log the step."""
        by_norm = gradient_clip_algorithm in (None, "norm")
        bound = (by_norm and gradient_clip_val) or math.inf
        norm = torch.nn.utils.clip_grad_norm_(parameters_of(optimizer), bound)
        if not by_norm:
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)
        if values := self._sums.end_step(norm, optimizer, self.trainer):
            self.log_dict(values)

    def on_train_epoch_start(self) -> None:
        """Measure the speed from here on."""
        self._sums.start_clock()

    def on_train_start(self) -> None:
        """Continue a step that was interrupted between its batches."""
        self._sums.restore_gradients([*self.parameters()])

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Save the sums, so that a resumed run makes the same steps and logs the same values."""
        checkpoint["sums"] = self._sums.state_dict([*self.parameters()], self.trainer)
        checkpoint["total_steps"] = self._total_steps

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the sums, and of schedules where they stand; Lightning leaves out unknown arguments without a line."""
        without_unknown(type(self), checkpoint.get("hyper_parameters", {}), "the checkpoint")
        if "sums" in checkpoint:
            self._sums.load_state_dict(checkpoint["sums"])
        self._total_steps = checkpoint.get("total_steps")
        if self.scheduler_factory is not None:
            forget_arguments(self.scheduler_factory, checkpoint.get("lr_schedulers", []))

    def configure_optimizers(self) -> Any:
        """Create the optimizer and its schedule."""
        try:
            optimizer = self.optimizer_factory(self.parameters())
        except ValueError as error:
            raise InputError(f"optimizer: {error}") from error
        if self.scheduler_factory is None:
            return optimizer
        planned, self._total_steps = self._total_steps, total_steps_for(self.scheduler_factory, self.trainer)
        schedule = scheduled(self.scheduler_factory, optimizer, self.trainer, self._total_steps, planned)
        return {"optimizer": optimizer, "lr_scheduler": schedule}

    # --- validation, and the same for `Trainer.test` ---

    def on_validation_epoch_start(self) -> None:
        """Start with sums of zero."""
        self._of_split = SplitSums()
        self.translations = self._of_split.translations  # read by callbacks before `on_validation_epoch_end`

    @property
    def attention_statistics(self) -> AttentionStatistics:
        """Sums of the current validation, of this process."""
        return self._of_split.attention

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add loss, attention and greedy translations of a batch."""
        features, weights = self(batch)
        sums = token_cross_entropy(
            features, self.model.decoder.output, batch.target_output, batch.target_is_token
        )
        data, split = prepared_of(self.trainer), self._split()
        self._of_split.add_loss(sums, batch, split)
        if data is None:  # data loaders, or a data module of another class
            return
        if weights is not None:
            if split not in self._gold:
                self._gold[split] = GoldPairs.of(data, split)
            self._of_split.add_attention(weights.mean(dim=2), batch, self._gold[split])
        hypotheses = greedy_search(self.model, batch.source, limits=self.limits)
        for index, hypothesis in zip(batch.sentence_ids.tolist(), hypotheses, strict=True):
            self.translations[index] = data.target_tokenizer.decode(hypothesis.ids)

    def on_validation_epoch_end(self) -> None:
        """Log the scores of the split."""
        sums = self._of_split.of_all_processes(self.trainer.world_size)
        self.translations = sums.translations
        prefix = "test" if self.trainer.testing else "val"
        values = sums.scores(prefix, prepared_of(self.trainer), self._split(), self.metrics)
        if values:  # without `step`, Lightning adds `epoch`, the first plot of TensorBoard
            self.log_dict(values | {"step": float(self.trainer.global_step)})

    def _split(self) -> str:
        """Return the name of the split that is validated or tested."""
        data = prepared_of(self.trainer)
        return "test" if self.trainer.testing and data is not None and data.test else "validation"

    on_test_epoch_start, test_step = on_validation_epoch_start, validation_step
    on_test_epoch_end = on_validation_epoch_end


def parameters_of(optimizer: Optimizer) -> list[torch.nn.Parameter]:
    """Return the parameters that an optimizer updates."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
