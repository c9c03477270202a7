"""Toy tasks with a known answer."""

from typing import Any

from seq2seq.common.numbers import NotNegative, Positive
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.tasks import task_pairs
from seq2seq.data.text import Splits


class TaskCorpus(TranslationDataModule):
    """Toy tasks with a known answer: dates, reversed symbols, numbers in words.

    Args:
        task: ``dates``, ``reverse`` or ``numbers``.
        train_pairs: Number of training pairs; no answer is in two splits.
        validation_pairs: Number of validation pairs.
        test_pairs: Number of test pairs.
        task_seed: Seed of the pairs.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        task: str = "dates",
        train_pairs: Positive = 10_000,
        validation_pairs: Positive = 500,
        test_pairs: NotNegative = 1000,
        task_seed: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.task, self.task_seed = task, task_seed
        self.sizes = {"train": train_pairs, "validation": validation_pairs, "test": test_pairs}

    def read(self) -> Splits:
        """Return the generated pairs."""
        options = self.task_seed, self.target_language
        return Splits(*(task_pairs(self.task, split, size, *options) for split, size in self.sizes.items()))
