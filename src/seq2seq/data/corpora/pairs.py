"""Sentence pairs that are given as Python objects."""

from collections.abc import Sequence
from typing import Any

from seq2seq.common.errors import InputError
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.text import SentencePair, Splits


class PairsCorpus(TranslationDataModule):
    """Sentence pairs that are given as Python objects.

    Args:
        train: (source, target) sentences or `SentencePair`.
        validation: The same, or None with `split`.
        test: The same; None for no test split.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        train: Sequence[Any],
        validation: Sequence[Any] | None = None,
        test: Sequence[Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.given = train, validation, test

    def read(self) -> Splits:
        """Return the pairs.

        Raises:
            InputError: One is no pair of texts.
        """
        return Splits(*([_pair(pair) for pair in (() if pairs is None else pairs)] for pairs in self.given))


def _pair(given: Any) -> SentencePair:
    if isinstance(given, SentencePair):
        return given
    if not (
        isinstance(given, list | tuple) and len(given) == 2 and all(isinstance(side, str) for side in given)
    ):
        raise InputError(f"{given!r:.60} is no pair: give (source, target), two texts, or a SentencePair")
    return SentencePair(*given)
