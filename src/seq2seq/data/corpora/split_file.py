"""Tab-separated files whose lines begin with their split, and the built-in corpora, which are such files."""

from pathlib import Path
from typing import Any, ClassVar

from seq2seq.common.errors import InputError
from seq2seq.common.numbers import Positive
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.languages import base_language
from seq2seq.data.text import SentencePair, Splits, read_lines


class SplitFile(TranslationDataModule):
    """Pairs of a tab-separated file whose lines begin with their split: train, validation or test.

    A subclass says which `columns` follow, and makes a pair of their cells.

    Args:
        file: The file, plain or compressed.
        train_pairs: Number of training pairs, from the start; None: all.
        **options: Arguments of `TranslationDataModule`.
    """

    columns: ClassVar[list[str]] = ["source", "target"]
    more_columns: ClassVar[bool] = False  # which are not read

    def __init__(self, *, file: str | Path, train_pairs: Positive | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.file, self.train_pairs = file, train_pairs

    def pair(self, cells: list[str], place: str) -> SentencePair:
        """Return the pair of the cells of a line; `place` begins messages."""
        del place
        source, target = cells
        return SentencePair(source, target)

    def read(self) -> Splits:
        """Read the file.

        Raises:
            InputError: A line has other columns.
        """
        self.prepare_data()
        splits: dict[str, list[SentencePair]] = {"train": [], "validation": [], "test": []}
        size = len(self.columns)
        # what chooses among pairs, or counts them, sees all; else what is left out later is not read
        needs_all = any((self.filter, self.split, self.alignments, self.validation_alignments))
        for number, line in enumerate(read_lines(self.file), start=1):
            (split, *cells), place = line.split("\t"), f"{self.file}, line {number}: "
            if split not in splits or len(cells) < size or (len(cells) > size and not self.more_columns):
                names = f"split, {', '.join(self.columns[:-1])} and {self.columns[-1]}"
                raise InputError(f"{place}{names} are expected (data=tsv reads pairs)")
            if needs_all or len(splits[split]) != self.max_examples:
                splits[split].append(self.pair(cells[:size], place))
        return Splits(splits["train"][: self.train_pairs], splits["validation"], splits["test"])


class BuiltIn(SplitFile):
    """A corpus that comes with the program, or a file of yours in its form.

    Args:
        file: None: the file that comes with the program, which is English and French.
        **options: Arguments of `SplitFile`.
    """

    corpus: ClassVar[str]

    def __init__(self, *, file: str | None = None, **options: Any) -> None:
        super().__init__(file=file or built_in(self.corpus), **options)
        self.is_own = file is not None
        given = self.source_language, self.target_language
        others = [
            base_language(each) not in (own, "und") for each, own in zip(given, ("en", "fr"), strict=True)
        ]
        if any(others) and not self.is_own:
            raise InputError(
                f"data={self.corpus} translates en into fr, not {given[0]} into {given[1]}: leave out "
                "data.source_language and data.target_language, or choose another corpus"
            )


def built_in(name: str) -> Path:
    """Return the file of a built-in corpus: inside the installed package, else in the clone."""
    folders = Path(__file__).parents[1], Path(__file__).parents[4] / "data"
    files = [folder / name / "corpus.tsv.xz" for folder in folders]
    return next((path for path in files if path.is_file()), files[0])
