"""Measures that a `TranslationModule` logs: of training steps, and of validation and test."""

import time
from collections.abc import Mapping
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor

from seq2seq.data.batch import Batch
from seq2seq.data.words import clean
from seq2seq.decoding.greedy import greedy_search
from seq2seq.errors import TrainingFailed
from seq2seq.evaluation.alignment import AlignmentCounts, argmax_links, best_links, merge_words
from seq2seq.evaluation.attention_statistics import AttentionStatistics, attention_statistics
from seq2seq.evaluation.metrics import Scorer, bleu_by_languages, scores_of
from seq2seq.models.limits import LengthLimits
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.training.guided_alignment import AlignedPair
from seq2seq.training.losses import metrics_of, token_cross_entropy


class MeasuredModule(pl.LightningModule):
    """Base class of `TranslationModule` that computes and logs its measures.

    Args:
        metrics: Additional scores of greedy translations by name.
        max_nonfinite_steps: Number of steps with a NaN or infinite loss or gradient before training fails.

    Attributes:
        model: The model; set by the subclass.
        limits: Length limits of translations; None before `setup`, which derives them from the training split.
        translations: Greedy translations of the latest validation, by the index of the pair in its split;
            that of a blank source is blank.
    """

    model: Seq2Seq

    def __init__(self, metrics: Mapping[str, Scorer] | None, max_nonfinite_steps: int) -> None:
        super().__init__()
        self.metrics, self.max_nonfinite_steps = metrics or {}, max_nonfinite_steps
        self.limits: LengthLimits | None = None
        self.translations: dict[int, str] = {}
        self._sums = torch.zeros(3, dtype=torch.float64)  # since the last logged values
        self._since = 0.0
        self._grad_norm: Tensor | None = None
        self._num_nonfinite = 0
        self._gold: dict[str, dict[int, AlignedPair]] = {}

    # --- training ---

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
        """Log means over the steps since the previous logged values."""
        values: dict[str, Any] = {f"train/{name}": value for name, value in metrics_of(self._sums).items()}
        seconds = time.perf_counter() - self._since
        copies = 2 if self.rdrop_alpha else 1
        values["train/tokens_per_second"] = float(self._sums[2]) / copies / max(seconds, 1e-9)
        if self._grad_norm is not None:
            values["train/grad_norm"] = self._grad_norm
        values["train/lr"] = self.trainer.optimizers[0].param_groups[0]["lr"]
        values["step"] = self.trainer.global_step + 1  # Lightning counts from 0
        self.log_dict({name: torch.as_tensor(float(value)) for name, value in values.items()})
        self._sums, self._since = torch.zeros(3, dtype=torch.float64), time.perf_counter()

    def on_train_epoch_start(self) -> None:
        """Restart the clock, so that the speed of training excludes validation."""
        self._since = time.perf_counter()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Save the sums since the previous logged values, so that a resumed run logs the same values."""
        checkpoint["training_sums"] = self._sums.cpu()
        checkpoint["num_nonfinite"] = self._num_nonfinite
        checkpoint["grad_norm"] = self._grad_norm

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the sums of `on_save_checkpoint`."""
        self._sums = checkpoint.get("training_sums", self._sums)
        self._num_nonfinite = checkpoint.get("num_nonfinite", 0)
        self._grad_norm = checkpoint.get("grad_norm")

    # --- validation and test ---

    def on_validation_epoch_start(self) -> None:
        """Reset all sums."""
        self.translations = {}
        self._val_sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        self._statistics = AttentionStatistics()
        self._aligned, self._least = AlignmentCounts(), AlignmentCounts()

    def validation_step(self, batch: Batch, batch_idx: int, split: str = "validation") -> None:
        """Compute loss, attention and greedy translations of a batch."""
        features, weights = self(batch)
        sums = token_cross_entropy(
            features, self.model.decoder.output, batch.target_output, batch.target_is_token
        )
        if not sums.nll.isfinite():
            raise TrainingFailed(
                f"the {split} loss is NaN or infinite on pairs {batch.sentence_ids[:20].tolist()}; this model "
                "is not saved, the checkpoints before are kept: lower optimizer.lr"
            )
        self._val_sums = self._val_sums + sums.stacked()
        data = getattr(self.trainer, "datamodule", None)
        if not hasattr(data, "target_tokenizer"):  # data loaders, or a data module of another class
            return
        if weights is not None:
            self._measure_attention(weights, batch, data, split)
        hypotheses = greedy_search(self.model, batch.source, limits=self.limits)
        for index, hypothesis in zip(batch.sentence_ids.tolist(), hypotheses, strict=True):
            self.translations[index] = data.target_tokenizer.decode(hypothesis.ids)

    def _measure_attention(self, weights: Tensor, batch: Batch, data: Any, split: str) -> None:
        array = weights.detach().float().cpu().numpy()
        widths, heights = batch.source.lengths.tolist(), batch.target_lengths.tolist()
        self._statistics += attention_statistics(array, widths, heights)
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
        """Compute and log the scores of the split."""
        self._log_scores("val", "validation")

    def on_test_epoch_start(self) -> None:
        """Reset all sums."""
        self.on_validation_epoch_start()

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Compute loss, attention and greedy translations of a batch."""
        self.validation_step(batch, batch_idx, self._test_split())

    def on_test_epoch_end(self) -> None:
        """Compute and log the scores of the split."""
        self._log_scores("test", self._test_split())

    def _test_split(self) -> str:
        return "test" if getattr(self.trainer.datamodule, "test", None) else "validation"

    def _log_scores(self, prefix: str, split: str) -> None:
        shares = [(self._val_sums.cpu(), self.translations, self._statistics, self._aligned, self._least)]
        if self.trainer.world_size > 1:
            shares = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(
                shares,
                (self._val_sums.cpu(), self.translations, self._statistics, self._aligned, self._least),
            )
        sums = sum((share[0] for share in shares[1:]), shares[0][0])
        self.translations = {index: text for share in shares for index, text in share[1].items()}
        statistics = sum((share[2] for share in shares[1:]), shares[0][2])
        aligned = sum((share[3] for share in shares[1:]), shares[0][3])
        least = sum((share[4] for share in shares[1:]), shares[0][4])
        if not float(sums[2]):
            return
        values = {f"{prefix}/{name}": float(value) for name, value in metrics_of(sums).items()}
        if self.translations:
            data = self.trainer.datamodule
            whole = getattr(data, split).pairs
            self.translations |= {index: "" for index, pair in enumerate(whole) if not clean(pair.source)}
            pairs = [whole[index] for index in self.translations]
            texts, references = [*self.translations.values()], [pair.target for pair in pairs]
            scores = scores_of(texts, references, data.target_language, only_quick=True, others=self.metrics)
            scores |= bleu_by_languages(texts, references, [pair.languages for pair in pairs])
            values |= {f"{prefix}/{name}": score for name, score in scores.items()}
        if statistics.num_tokens:
            values |= {f"{prefix}_attention/{name}": value for name, value in statistics.metrics().items()}
        if aligned.num_sure:
            values |= {f"{prefix}_alignment/{name}": value for name, value in aligned.metrics().items()}
            values[f"{prefix}_alignment/least_aer"] = least.error_rate
        values["step"] = float(
            self.trainer.global_step
        )  # else Lightning adds `epoch`, the first plot of TensorBoard
        self.log_dict(values)
