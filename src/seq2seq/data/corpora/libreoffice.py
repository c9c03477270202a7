"""The help of LibreOffice in English and another language, as ``scripts/get_libreoffice.py`` extracts it."""

from pathlib import Path
from typing import Any

from seq2seq.common.errors import InputError
from seq2seq.common.numbers import Positive
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.text import SentencePair, Splits, read_splits


class LibreOfficeHelp(TranslationDataModule):
    """Paragraphs of the help of LibreOffice (MPL-2.0), held out by page.

    No page is in two splits, and no sentence that differs only in case, digits or punctuation.

    Args:
        root: Folder of the files of ``scripts/get_libreoffice.py``: tab-separated split, page, English, translation.
        train_pairs: Number of training pairs, from the start; None: all.
        **options: Arguments of `TranslationDataModule`. One of the two languages is English.
    """

    def __init__(
        self, *, root: str = "data/cache/libreoffice", train_pairs: Positive | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        languages = self.source_language, self.target_language
        if [code == "en" for code in languages].count(True) != 1:
            raise InputError("data.source_language or data.target_language is en, the other one is not")
        self.to_english = self.target_language == "en"
        self.other = languages[0] if self.to_english else languages[1]
        self.file, self.train_pairs = Path(root) / f"en-{self.other.lower()}.tsv", train_pairs

    def prepare_data(self) -> None:
        """Check that the file exists."""
        if not self.file.is_file():
            raise InputError(
                f"{self.file}: there is no such file; make it with: python scripts/get_libreoffice.py {self.other}, a script of the repository"
            )

    def read(self) -> Splits:
        """Read the file."""
        self.prepare_data()
        splits: dict[str, list[SentencePair]] = {"train": [], "validation": [], "test": []}
        for name, (_, english, other) in read_splits(self.file, "split, page, English and translation"):
            splits[name].append(SentencePair(*((other, english) if self.to_english else (english, other))))
        return Splits(splits["train"][: self.train_pairs], splits["validation"], splits["test"])
