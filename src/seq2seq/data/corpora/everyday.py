"""The built-in corpus of everyday sentences of Tatoeba; where built-in corpora are, and the languages that they have."""

from pathlib import Path
from typing import Any

from seq2seq.common.errors import InputError
from seq2seq.common.numbers import Positive
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.languages import base_language
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


def built_in(name: str) -> Path:
    """Return the file of a built-in corpus: inside the installed package, else in the clone."""
    folders = Path(__file__).parents[1], Path(__file__).parents[4] / "data"
    files = [folder / name / "corpus.tsv.xz" for folder in folders]
    return next((path for path in files if path.is_file()), files[0])


def require_languages(data: str, given: tuple[str, str], own: tuple[str, str] = ("en", "fr")) -> None:
    """Raise InputError where the languages of a built-in corpus are set to others; `data` is the corpus's name."""
    named = [base_language(each if each != "und" else mine) for each, mine in zip(given, own, strict=True)]
    if named != [base_language(each) for each in own]:
        raise InputError(
            f"data={data} translates {own[0]} into {own[1]}, not {given[0]} into {given[1]}: leave out "
            "data.source_language and data.target_language, or choose another corpus"
        )
