"""The built-in corpus of a grammar."""

from typing import Any

from bitext import parse_links
from joined_words import require_inside, split_words
from seq2seq.common.numbers import Positive
from seq2seq.data.addresses import refusing
from seq2seq.data.corpora.everyday import built_in, require_languages
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.text import SentencePair, Splits, read_splits


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
        self.file, self.is_own, self.train_pairs = file or built_in("grammar"), bool(file), train_pairs
        if file is None:
            require_languages("grammar", (self.source_language, self.target_language))

    def read(self) -> Splits:
        """Read the file."""
        splits: dict[str, list[SentencePair]] = {"train": [], "validation": [], "test": []}
        rows = read_splits(self.file, "split, source, target and links")
        for number, (name, (source, target, links)) in enumerate(rows, start=1):
            if self.filter is None and len(splits[name]) == self.max_examples:  # links take longest to read
                continue
            with refusing(f"{self.file}, line {number}: "):
                every, possible = parse_links(links)
                if self.is_own:
                    sizes = len(split_words(source)), len(split_words(target))
                    require_inside(every, sizes, "words and punctuation marks apart,")
            splits[name].append(SentencePair(source, target, every, possible))
        return Splits(splits["train"][: self.train_pairs], splits["validation"], splits["test"])
