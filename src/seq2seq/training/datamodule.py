"""The Lightning side of the data: loaders for training and validation."""

from collections.abc import Callable

import lightning.pytorch as pl

from seq2seq.text.bucketing import Order
from seq2seq.text.loader import BatchLoader
from seq2seq.text.resampling import Resampling
from seq2seq.text.store import EncodedSplit


class TranslationData(pl.LightningDataModule):
    """Batches of a training and a validation split.

    Args:
        train: training split.
        validation: validation split.
        train_order: batches of the training split in an epoch.
        validation_order: batches of the validation split.
        resampling: draws the subwords of the training split anew in every epoch; None to keep.
    """

    def __init__(
        self,
        train: EncodedSplit,
        validation: EncodedSplit,
        *,
        train_order: Callable[[int], Order],
        validation_order: Callable[[int], Order],
        resampling: Resampling | None = None,
    ) -> None:
        super().__init__()
        self._train = train
        self._validation = validation
        self._train_order = train_order
        self._validation_order = validation_order
        self._resampling = resampling

    def _epoch(self) -> int:
        return self.trainer.current_epoch if self.trainer else 0

    def train_dataloader(self) -> BatchLoader:
        """Batches in this epoch's order."""
        return BatchLoader(self._train, self._train_order, self._epoch, self._resampling)

    def val_dataloader(self) -> BatchLoader:
        """Batches in the one fixed order."""
        return BatchLoader(self._validation, self._validation_order, self._epoch)
