"""The Lightning module: the training step, validation with greedy translations, the optimizer."""

import inspect
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor
from torch.optim import Adam, Optimizer

from seq2seq.data.batch import Batch
from seq2seq.decoding.greedy import greedy_search
from seq2seq.errors import InputError, TrainingFailed
from seq2seq.evaluation.alignment import AlignmentCounts, argmax_links, best_links, merge_words
from seq2seq.evaluation.attention_health import HealthSums, health_sums
from seq2seq.evaluation.metrics import Scorer, bleu_by_languages, scores_of
from seq2seq.models import fast as fast_path
from seq2seq.models.build import build_model
from seq2seq.models.limits import LengthLimits
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.training.guided_alignment import AlignedPair, GuidedAlignment
from seq2seq.training.losses import LossSums, metrics_of, token_cross_entropy
from seq2seq.training.regularization import drop_words, twice


class TranslationModule(pl.LightningModule):
    """Trains a `Seq2Seq` on batches of `seq2seq.data.Batch`.

    Logs ``train/loss``, ``train/perplexity``, ``train/accuracy``, ``train/lr``, ``train/grad_norm`` and
    ``train/tokens_per_second`` every `log_every_n_steps` optimizer steps, and after each validation
    ``val/loss`` (unsmoothed, in nats a token), ``val/perplexity``, ``val/accuracy``, ``val/bleu`` and the other
    quick scores of greedy translations, and measures of the attention, ``val_attention/…`` and, where
    there are gold alignments, ``val_alignment/…``. Scores need a `TranslationDataModule`, whose tokenizers and references
    they are computed with.

    Args:
        model: The model; or the arguments of `build_model` as plain data, as a checkpoint holds them.
        optimizer: Makes the optimizer of parameters; None: Adam.
        scheduler: Makes the schedule of an optimizer, and of `total_steps` if it has such an argument; None:
            a constant rate.
        objective: What training minimises: called with this module and a batch, it returns the sums of the
            loss and the attention weights (B, T, S) or None, such as `MinimumRisk` and `ScheduledSampling`;
            None: cross-entropy by teacher forcing.
        label_smoothing: Share of the label that is spread evenly over the vocabulary.
        word_dropout: Share of the input tokens that are replaced by ``<unk>`` in training.
        rdrop_alpha: Weight of the divergence of two dropout masks; above 0 every batch is read twice.
        guided_alignment_weight: Weight of the attention's loss against gold alignments.
        metrics: Scores of greedy translations besides the program's, by name: functions of translations,
            references and the code of their language, logged as ``val/NAME``.
        fast: Train the models that `seq2seq.models.fast` knows in its faster way; False: always by the model's own
            `forward`.
        max_nonfinite_steps: Steps with a NaN or infinite loss or gradient that are left out before training
            fails.
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
        fast: bool = True,
        max_nonfinite_steps: int = 0,
    ) -> None:
        super().__init__()
        self.model = model if isinstance(model, Seq2Seq) else build_model(**model, trust_custom_code=True)
        self.optimizer_factory, self.scheduler_factory = optimizer or Adam, scheduler
        self.objective = objective
        self.label_smoothing, self.word_dropout, self.rdrop_alpha = label_smoothing, word_dropout, rdrop_alpha
        self.guided_alignment_weight, self.metrics, self.fast = guided_alignment_weight, metrics or {}, fast
        self.max_nonfinite_steps = max_nonfinite_steps
        # what `load_from_checkpoint` builds the module from
        self.save_hyperparameters(
            {
                "model": self.model.config, "label_smoothing": label_smoothing, "word_dropout": word_dropout,
                "rdrop_alpha": rdrop_alpha, "guided_alignment_weight": guided_alignment_weight,
                "fast": fast, "max_nonfinite_steps": max_nonfinite_steps,
            },
            logger=False,
        )  # fmt: skip
        self.limits: LengthLimits | None = None
        """How long translations may be; None: as long as the training split says, from `setup` on."""
        self.translations: dict[int, str] = {}
        """The greedy translations of the latest validation, by the place of the pair in its split."""
        self._guidance: GuidedAlignment | None = None
        self._sums = torch.zeros(3, dtype=torch.float64)  # since the last logged values
        self._since = 0.0
        self._grad_norm: Tensor | None = None
        self._num_nonfinite = 0
        self._gold: dict[str, dict[int, AlignedPair]] = {}

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Teacher forcing: features (B, T, R) and attention weights (B, T, S) of a batch."""
        source = batch.source.ids, batch.source.lengths, batch.source.is_token
        if self.fast:
            return fast_path.teacher_forcing(self.model, source, batch.target_input, batch.target_lengths)
        return self.model(*source, batch.target_input, batch.target_lengths)

    def cross_entropy(self, batch: Batch, features: Tensor) -> LossSums:
        """Return the sums of a batch in training, by label smoothing and R-Drop as they are set."""
        return self._loss_sums(
            batch, features, label_smoothing=self.label_smoothing, divergence=self.rdrop_alpha
        )

    def _loss_sums(self, batch: Batch, features: Tensor, **options: float) -> LossSums:
        return token_cross_entropy(
            features, self.model.decoder.output, batch.target_output, batch.target_is_token, **options
        )

    # --- training ---

    def setup(self, stage: str) -> None:
        """Take lengths and gold alignments from the data module."""
        data = getattr(self.trainer, "datamodule", None)
        train = getattr(data, "train", None)
        if train is None:
            self.limits = self.limits or LengthLimits()
            return
        if self.limits is None:
            self.limits = LengthLimits.fitted(train.source.lengths, train.target.lengths)
        if stage == "fit" and self.guided_alignment_weight:
            if not self.model.decoder.attends:
                raise InputError("module.guided_alignment_weight needs a decoder with attention")
            if not any(pair.alignment for pair in train.pairs):
                raise InputError("module.guided_alignment_weight needs gold links: set data.alignments")
            self._guidance = GuidedAlignment(train, (data.source_tokenizer, data.target_tokenizer))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the loss in nats a target token of a batch."""
        if self.rdrop_alpha:
            batch = twice(batch)
        if self.word_dropout:
            batch = drop_words(batch, self.word_dropout)
        if self.objective is None:
            features, weights = self(batch)
            sums = self.cross_entropy(batch, features)
        else:
            sums, weights = self.objective(self, batch)
        objective = sums.smoothed
        if self._guidance is not None:
            objective = objective + self.guided_alignment_weight * self._guidance.loss(weights, batch)
        num_tokens = sums.num_tokens
        if self.trainer.world_size > 1:  # gradients are averaged: weigh each process by its tokens
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
        """Clip by the L2 norm as Lightning does, keep the norm, and leave out steps that are not finite."""
        if gradient_clip_algorithm not in (None, "norm"):
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)
            return
        bound = math.inf if gradient_clip_val is None else gradient_clip_val
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        self._grad_norm = torch.nn.utils.clip_grad_norm_(parameters, bound)
        scaled = str(self.trainer.precision).startswith("16")  # its scaler leaves infinite steps out
        if not scaled and not self._grad_norm.isfinite():
            self._count_nonfinite("gradient", None)
            optimizer.zero_grad(set_to_none=True)  # the optimizer passes over such parameters

    def _count_nonfinite(self, what: str, batch: Batch | None) -> None:
        step = self.trainer.global_step + 1
        where = "" if batch is None else f" on training pairs {batch.sentence_ids[:20].tolist()}"
        message = f"step {step}: the {what} is NaN or infinite{where}"
        self._num_nonfinite += 1
        if self._num_nonfinite > self.max_nonfinite_steps:
            raise TrainingFailed(
                f"{message}; the checkpoints before are kept: lower optimizer.lr or "
                "trainer.gradient_clip_val, or allow module.max_nonfinite_steps=N such steps"
            )
        print(f"WARNING: {message}; step left out ({self._num_nonfinite} of {self.max_nonfinite_steps})")

    def _log_training(self) -> None:
        """Log the means since the last logged values."""
        values: dict[str, Any] = {f"train/{name}": value for name, value in metrics_of(self._sums).items()}
        seconds = time.perf_counter() - self._since
        readings = 2 if self.rdrop_alpha else 1
        values["train/tokens_per_second"] = float(self._sums[2]) / readings / max(seconds, 1e-9)
        if self._grad_norm is not None:
            values["train/grad_norm"] = self._grad_norm
        values["train/lr"] = self.trainer.optimizers[0].param_groups[0]["lr"]
        values["step"] = self.trainer.global_step + 1  # Lightning would count from 0
        self.log_dict({name: torch.as_tensor(float(value)) for name, value in values.items()})
        self._sums, self._since = torch.zeros(3, dtype=torch.float64), time.perf_counter()

    def on_train_epoch_start(self) -> None:
        """Begin new sums; measure speed without the validation before."""
        self._since = time.perf_counter()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the sums since the last logged values, so that a continued run logs the same."""
        checkpoint["training_sums"] = self._sums.cpu()
        checkpoint["num_nonfinite"] = self._num_nonfinite
        checkpoint["grad_norm"] = self._grad_norm

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Go on with these sums."""
        self._sums = checkpoint.get("training_sums", self._sums)
        self._num_nonfinite = checkpoint.get("num_nonfinite", 0)
        self._grad_norm = checkpoint.get("grad_norm")

    def configure_optimizers(self) -> Any:
        """Make the optimizer and its schedule, which is stepped by optimizer steps or by validations."""
        try:
            optimizer = self.optimizer_factory(self.parameters())
        except ValueError as error:
            raise InputError(f"optimizer: {error}") from error
        if self.scheduler_factory is None:
            return optimizer
        options = {}
        if "total_steps" in inspect.signature(self.scheduler_factory).parameters:
            options["total_steps"] = self.total_steps()
        scheduler = self.scheduler_factory(optimizer, **options)
        if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            frequency = self.trainer.check_val_every_n_epoch or 1
            settings = {"interval": "epoch", "frequency": frequency, "monitor": "val/loss"}
        else:
            settings = {"interval": "step"}
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, **settings},
        }

    def total_steps(self) -> int:
        """Return the optimizer steps of the whole training.

        (With a data module `trainer.estimated_stepping_batches` would lose the loader's place in a continued run.)
        """
        trainer = self.trainer
        data = getattr(trainer, "datamodule", None)
        if data is None:  # loaders that were given to `Trainer.fit`, which only Lightning has yet
            return int(trainer.estimated_stepping_batches)
        batches = len(data.train_dataloader())
        if isinstance(trainer.limit_train_batches, int) and trainer.limit_train_batches > 0:
            batches = min(batches, trainer.limit_train_batches)
        elif isinstance(trainer.limit_train_batches, float):
            batches = max(1, int(batches * trainer.limit_train_batches))
        steps = math.ceil(batches / trainer.accumulate_grad_batches) * (trainer.max_epochs or 1)
        if trainer.max_epochs == -1:
            steps = trainer.max_steps
        return steps if trainer.max_steps < 0 else min(steps, trainer.max_steps)

    # --- validation and test ---

    def on_validation_epoch_start(self) -> None:
        """Begin with empty sums."""
        self.translations = {}
        self._val_sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        self._health, self._aligned, self._least = HealthSums(), AlignmentCounts(), AlignmentCounts()

    def validation_step(self, batch: Batch, batch_idx: int, split: str = "validation") -> None:
        """Compute loss, attention and greedy translations of a batch."""
        features, weights = self(batch)
        sums = self._loss_sums(batch, features)
        if not sums.nll.isfinite():
            raise TrainingFailed(
                f"the {split} loss is NaN or infinite on pairs {batch.sentence_ids[:20].tolist()}; this model "
                "is not saved, the checkpoints before are kept: lower optimizer.lr"
            )
        self._val_sums = self._val_sums + sums.stacked()
        data = getattr(self.trainer, "datamodule", None)
        if data is None:
            return
        if weights is not None:
            self._measure_attention(weights, batch, data, split)
        hypotheses = greedy_search(self.model, batch.source, limits=self.limits)
        for index, hypothesis in zip(batch.sentence_ids.tolist(), hypotheses, strict=True):
            self.translations[index] = data.target_tokenizer.decode(hypothesis.ids)

    def _measure_attention(self, weights: Tensor, batch: Batch, data: Any, split: str) -> None:
        array = weights.detach().float().cpu().numpy()
        widths, heights = batch.source.lengths.tolist(), batch.target_lengths.tolist()
        self._health += health_sums(array, widths, heights)
        if split not in self._gold:
            encoded = getattr(data, split)
            self._gold[split] = {
                index: AlignedPair.of(encoded, index, data.source_tokenizer, data.target_tokenizer)
                for index, pair in enumerate(encoded.pairs)
                if pair.alignment is not None
            }
        for matrix, width, height, index in zip(
            array, widths, heights, batch.sentence_ids.tolist(), strict=True
        ):
            if (pair := self._gold[split].get(index)) is not None:
                merged = merge_words(matrix[: height - 1, : width - 1], pair.source_words, pair.target_words)
                self._aligned += AlignmentCounts.of(argmax_links(merged), pair.gold)
                sides = ({word for word in side if word is not None} for side in
                         (pair.source_words, pair.target_words))  # fmt: skip
                self._least += AlignmentCounts.of(best_links(pair.gold, *sides), pair.gold)

    def on_validation_epoch_end(self) -> None:
        """Log the scores of the whole split."""
        self._log_scores("val", "validation")

    def on_test_epoch_start(self) -> None:
        """Begin with empty sums."""
        self.on_validation_epoch_start()

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Compute loss, attention and greedy translations of a batch."""
        self.validation_step(batch, batch_idx, split="test" if self.trainer.datamodule.test else "validation")

    def on_test_epoch_end(self) -> None:
        """Log the scores of the whole split."""
        self._log_scores("test", "test" if self.trainer.datamodule.test else "validation")

    def _log_scores(self, prefix: str, split: str) -> None:
        shares = [(self._val_sums.cpu(), self.translations, self._health, self._aligned, self._least)]
        if self.trainer.world_size > 1:
            shares = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(
                shares, (self._val_sums.cpu(), self.translations, self._health, self._aligned, self._least)
            )
        sums = sum((share[0] for share in shares[1:]), shares[0][0])
        self.translations = {index: text for share in shares for index, text in share[1].items()}
        health = sum((share[2] for share in shares[1:]), shares[0][2])
        aligned = sum((share[3] for share in shares[1:]), shares[0][3])
        least = sum((share[4] for share in shares[1:]), shares[0][4])
        if not float(sums[2]):
            return
        values = {f"{prefix}/{name}": float(value) for name, value in metrics_of(sums).items()}
        if self.translations:
            data = self.trainer.datamodule
            pairs = [getattr(data, split).pairs[index] for index in self.translations]
            texts, references = [*self.translations.values()], [pair.target for pair in pairs]
            scores = scores_of(texts, references, data.target_language, only_quick=True, others=self.metrics)
            scores |= bleu_by_languages(texts, references, [pair.languages for pair in pairs])
            values |= {f"{prefix}/{name}": score for name, score in scores.items()}
        if health.num_tokens:
            values |= {f"{prefix}_attention/{name}": value for name, value in health.metrics().items()}
        if aligned.num_sure:
            values |= {f"{prefix}_alignment/{name}": value for name, value in aligned.metrics().items()}
            values[f"{prefix}_alignment/least_aer"] = least.error_rate
        values["step"] = float(
            self.trainer.global_step
        )  # else Lightning adds `epoch`, the first plot of TensorBoard
        self.log_dict(values)
