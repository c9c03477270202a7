"""One file of sentence pairs."""

import random
from typing import Any

from bitext import Column
from seq2seq.common.errors import InputError
from seq2seq.common.numbers import NotNegative, Positive
from seq2seq.common.progress import counted
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.files import columns_of, read_pairs
from seq2seq.data.text import Splits, hold_out, in_file_order


class TabSeparatedText(TranslationDataModule):
    """A file of sentence pairs: columns separated by tabs, such as Tatoeba's ``fra.txt``, or another format.

    The format is told by the content: tabs, CSV, ``|||``, JSON lines, Parquet, TMX, XLIFF, gettext, WMT's XML, an archive
    of OPUS.

    Args:
        file: The file, plain, compressed or in a zip archive.
        source_column: Name of the column of the source, or its number from 1; None: found by the names of languages, or
            the first column.
        target_column: The same for the target; both or neither are given.
        train_pairs: Number of training pairs, drawn at random; None: all that are not held out. The draw of a larger number
            has the pairs of a smaller one.
        validation_pairs: Number of validation pairs, or a few more: those of one source stay together. Splits share no source sentence (see `normalize`).
        test_pairs: Number of test pairs; 0 for none.
        in_order: Take training, validation and test pairs in the order of the file, not at random.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        file: str,
        source_column: Column = None,
        target_column: Column = None,
        train_pairs: Positive | None = None,
        validation_pairs: Positive = 1000,
        test_pairs: NotNegative = 1000,
        in_order: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.columns = columns_of(self.source_language, self.target_language, source_column, target_column)
        self.file, self.in_order = file, in_order
        self.sizes = train_pairs, validation_pairs, test_pairs

    def read(self) -> Splits:
        """Read the file and hold out pairs."""
        pairs = read_pairs(self.file, self.columns)
        train_pairs, validation_pairs, test_pairs = self.sizes
        if self.in_order:
            if train_pairs is None:
                raise InputError("data.train_pairs is needed with data.in_order=true")
            return Splits(*in_file_order(pairs, [train_pairs, validation_pairs, test_pairs]))
        try:
            rest, validation = hold_out(pairs, validation_pairs, self.split_seed)
            rest, test = hold_out(rest, test_pairs, self.split_seed) if test_pairs else (rest, [])
        except InputError as error:
            raise InputError(
                f"{self.file} has {counted(len(pairs), 'pair')}, too few to hold out {validation_pairs:,} for "
                f"validation and {test_pairs:,} for the test: lower data.validation_pairs and data.test_pairs"
            ) from error
        if train_pairs is not None and train_pairs > len(rest):
            raise InputError(
                f"data.train_pairs={train_pairs}: {self.file} leaves {counted(len(rest), 'pair')} for training: ask "
                "for fewer, or set data.train_pairs=null"
            )
        places = list(range(len(rest)))
        random.Random(self.split_seed).shuffle(places)  # a file may be sorted by length, as fra.txt is
        return Splits([rest[place] for place in sorted(places[:train_pairs])], validation, test)
