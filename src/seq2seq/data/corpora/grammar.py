"""The built-in corpus."""

from pathlib import Path
from typing import Any

from bitext import FormatError, parse_links
from seq2seq.common.numbers import Positive
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.languages import base_language
from seq2seq.data.text import SentencePair, Splits, read_splits, require_inside
from seq2seq.data.words import split_words
from seq2seq.errors import InputError

_FOLDERS = Path(__file__).parents[1] / "grammar", Path(__file__).parents[4] / "data" / "grammar"


GRAMMAR = next((path for path in _FOLDERS if path.is_dir()), _FOLDERS[0])
"""The folder of the built-in corpus: inside the installed package, else in the clone."""


class GrammarCorpus(TranslationDataModule):
    """The built-in English-French corpus of ``data/grammar/generate.py``, with gold alignments.

    Args:
        file: Tab-separated columns: split, source, target, alignment in Pharaoh format, which links the words that
            `split_words` returns (``bushes.`` are two); None: the file that comes with the program.
        train_pairs: Number of training pairs, from the start; None: all.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self, *, file: str | None = None, train_pairs: Positive | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.file, self.is_own, self.train_pairs = file or GRAMMAR / "corpus.tsv.xz", bool(file), train_pairs
        given = self.source_language, self.target_language
        named = [
            base_language(each) if each != "und" else base_language(own)
            for each, own in zip(given, ("en", "fr"), strict=True)
        ]
        if file is None and named != [base_language("en"), base_language("fr")]:
            raise InputError(
                f"data=grammar translates en into fr, not {given[0]} into {given[1]}: leave out data.source_language and "
                "data.target_language, or choose another corpus"
            )

    def read(self) -> Splits:
        """Read the file."""
        splits: dict[str, list[SentencePair]] = {"train": [], "validation": [], "test": []}
        rows = read_splits(self.file, "split, source, target and links")
        for number, (name, source, target, links) in enumerate(rows, start=1):
            if len(splits[name]) == self.max_examples:  # links take longest to read
                continue
            where = f"{self.file}, line {number}"
            try:
                every, possible = parse_links(links)
            except FormatError as error:
                raise InputError(f"{where}: {error}") from error
            if self.is_own:
                sizes = len(split_words(source)), len(split_words(target))
                require_inside(where, every, sizes, "words and punctuation marks apart,")
            splits[name].append(SentencePair(source, target, every, possible))
        return Splits(splits["train"][: self.train_pairs], splits["validation"], splits["test"])
