"""One file of sentence pairs."""

from collections.abc import Mapping
from typing import Any

from bitext import Column
from seq2seq.common.numbers import Positive
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.files import columns_of, read_pairs
from seq2seq.data.split import Split
from seq2seq.data.text import Splits

DEFAULT = Split(validation=1000, test=1000)


class TabSeparatedText(TranslationDataModule):
    """A file of sentence pairs: columns separated by tabs, such as Tatoeba's ``fra.txt``, or another format.

    The format is told by the content: tabs, CSV, ``|||``, JSON lines, Parquet, TMX, XLIFF, gettext, WMT's XML, an archive
    of OPUS.

    Args:
        file: The file, plain, compressed or in a zip archive.
        source_column: Name of the column of the source, or its number from 1; None: found by the names of languages, or
            the first column.
        target_column: The same for the target; both or neither are given.
        train_pairs: Number of training pairs, drawn at random; None: all that are not held out.
        split: How pairs are held out.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        file: str,
        source_column: Column = None,
        target_column: Column = None,
        train_pairs: Positive | None = None,
        split: Split | Mapping[str, Any] = DEFAULT,
        **options: Any,
    ) -> None:
        super().__init__(split=split, **options)
        self.columns = columns_of(self.source_language, self.target_language, source_column, target_column)
        self.file, self.train_pairs = file, train_pairs

    def read(self) -> Splits:
        """Read the file."""
        return Splits(read_pairs(self.file, self.columns), [])

    def divide(self, split: Split, splits: Splits) -> Splits:
        """Return the splits of the pairs of the file."""
        return split.divide(splits.train, self.train_pairs)
