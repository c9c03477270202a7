"""Files of two languages, line by line."""

from collections.abc import Mapping
from typing import Any

from bitext import Column
from seq2seq.common.errors import InputError
from seq2seq.common.progress import warn
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.files import columns_of, read_split, two_files
from seq2seq.data.split import require_held_out
from seq2seq.data.text import SentencePair, Splits


class ParallelText(TranslationDataModule):
    """Files of two languages, one sentence a line; line n of one translates line n of the other.

    Plain text, .gz, .bz2 or .xz, UTF-8. A source file with both languages, in any format of `TabSeparatedText`, needs
    no target file.

    Args:
        train: Files ``source`` and ``target``; patterns such as ``*.en`` match several files.
        validation: The same; without it, `split` holds out training pairs.
        test: The same; without it, the validation split is scored at the end.
        source_column: Column of the source in files with both languages, see `TabSeparatedText`.
        target_column: Column of the target.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        train: Mapping[str, str | None],
        validation: Mapping[str, str | None] | None = None,
        test: Mapping[str, str | None] | None = None,
        source_column: Column = None,
        target_column: Column = None,
        **options: Any,
    ) -> None:
        self.files = {"train": dict(train), "validation": dict(validation or {}), "test": dict(test or {})}
        super().__init__(**options)
        self.columns = columns_of(self.source_language, self.target_language, source_column, target_column)
        texts = [files for files in self.files.values() if files.get("source")]
        if self.columns.named and all(files.get("target") for files in texts):
            raise InputError(
                "data.source_column, data.target_column: two files of text have no columns; leave them out"
            )

    def read(self) -> Splits:
        """Read the files."""
        train, validation, test = (self._pairs(split) for split in ("train", "validation", "test"))
        if not train:
            raise InputError("data.train.source and data.train.target are needed")
        if all(pair.source == pair.target for pair in train):
            warn("source and target are the same in all training pairs: one file twice?")
        require_held_out(self.files["validation"], self.split)
        return Splits(train, validation, test)

    def _pairs(self, split: str) -> list[SentencePair]:
        return read_split(f"data.{split}", self.files[split], self.columns)

    def checked_files(self, split: str) -> tuple[str, str]:
        """Return the source and target files, or patterns, of a split, see `two_files`."""
        return two_files(f"data.{split}", self.files[split])
