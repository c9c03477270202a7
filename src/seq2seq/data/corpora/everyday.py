"""The built-in corpus of everyday sentences of Tatoeba."""

from typing import Any

from seq2seq.common.numbers import Positive
from seq2seq.data.corpora.built_in import built_in, require_languages
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.text import SentencePair, Splits, read_splits


class EverydayCorpus(TranslationDataModule):
    """The built-in English-French corpus of everyday sentences, which ``scripts/make_everyday.py`` makes of Tatoeba's.

    Sentences that differ by names, pronouns, numbers, case and punctuation only are never in two splits.

    Args:
        file: Tab-separated columns: split, source, target; more columns are other translations, which are not read. None:
            the file that comes with the program.
        train_pairs: Number of training pairs, from the start; None: all.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self, *, file: str | None = None, train_pairs: Positive | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.file, self.train_pairs = file or built_in("everyday"), train_pairs
        if file is None:
            require_languages("everyday", (self.source_language, self.target_language))

    def read(self) -> Splits:
        """Read the file.

        Raises:
            InputError: A line has other columns.
        """
        splits: dict[str, list[SentencePair]] = {"train": [], "validation": [], "test": []}
        rows = read_splits(self.file, "split, source and target", num_cells=2, has_more=True)
        for name, (source, target) in rows:
            splits[name].append(SentencePair(source, target))
        return Splits(splits["train"][: self.train_pairs], splits["validation"], splits["test"])
