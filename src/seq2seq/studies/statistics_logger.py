"""Callback that logs statistics of the attention on whole validation and test splits, and says what is wrong with it."""

from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from seq2seq.common.numbers import NotNegative
from seq2seq.common.progress import warn
from seq2seq.data.batch import Batch
from seq2seq.studies.attention_statistics import AttentionStatistics, alarms, attention_statistics


class StatisticsLogger(Callback):
    """Log ``val_attention/…`` and ``test_attention/…``, see `AttentionStatistics`, and report alarms of validations.

    Args:
        formed_by: Optimizer step from which on attention that has not formed, has collapsed, is on ``<eos>`` or copies a
            row is reported, see `alarms`.

    Attributes:
        marks: What is wrong at this validation, for the records of `AttentionLogger`.
    """

    def __init__(self, formed_by: NotNegative = 1000) -> None:
        self.formed_by, self.marks = formed_by, list[str]()
        self._alarmed = list[str]()
        self._sums, self._is_whole = AttentionStatistics(), False

    def on_validation_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start with sums of zero."""
        self._sums, self._is_whole, self.marks = AttentionStatistics(), False, []

    def on_validation_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Batch, batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:  # fmt: skip
        """Add the attention weights of a batch, which the step returns; after the last, look for alarms."""
        if isinstance(outputs, Tensor):
            weights, lengths = outputs.mean(dim=2).float(), (batch.source.lengths, batch.target_lengths)
            self._sums += attention_statistics(*(each.numpy(force=True) for each in (weights, *lengths)))
        batches = trainer.num_test_batches if trainer.testing else trainer.num_val_batches
        if batch_idx + 1 == batches[dataloader_idx]:  # other callbacks ask for marks when the epoch ends
            self._end(trainer)

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log the means."""
        self._end(trainer)
        split = "test" if trainer.testing else "val"
        if self._sums.num_tokens:
            values = {f"{split}_attention/{name}": value for name, value in self._sums.metrics().items()}
            pl_module.log_dict(values)

    on_test_epoch_start, on_test_batch_end = on_validation_epoch_start, on_validation_batch_end
    on_test_epoch_end = on_validation_epoch_end

    def _end(self, trainer: pl.Trainer) -> None:
        """Add the sums of the other processes, once; print alarms that the validation before did not have."""
        if self._is_whole:
            return
        self._is_whole = True
        if trainer.world_size > 1:
            shares: list[Any] = [None] * trainer.world_size
            torch.distributed.all_gather_object(shares, self._sums)
            self._sums = sum(shares[1:], shares[0])
        if trainer.sanity_checking or trainer.testing or not self._sums.num_tokens:
            return
        found = alarms(self._sums.metrics(), is_late=trainer.global_step >= self.formed_by)
        for name, text in found.items():
            if name not in self._alarmed and trainer.is_global_zero:
                warn(f"attention at step {trainer.global_step:,}: {text}")
        self._alarmed, self.marks = list(found), list(found.values())
