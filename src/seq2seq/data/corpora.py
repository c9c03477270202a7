"""Corpora: text files, tab-separated files, Multi30k, Tatoeba, Hugging Face datasets, the built-in corpus."""

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from seq2seq.common.counted import counted
from seq2seq.common.numbers import NotNegative, Positive
from seq2seq.common.progress import announce, warn
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.formats.columns import Column, Columns, cell_text
from seq2seq.data.formats.pairs import read_pairs, read_split, two_files
from seq2seq.data.languages import base_language
from seq2seq.data.tasks import task_pairs
from seq2seq.data.text import (
    SentencePair,
    Splits,
    hold_out,
    in_file_order,
    parse_links,
    read_parallel,
    read_splits,
    require_held_out,
    require_inside,
)
from seq2seq.data.words import split_words
from seq2seq.errors import InputError

_FOLDERS = Path(__file__).parent / "grammar", Path(__file__).parents[3] / "data" / "grammar"
GRAMMAR = next((path for path in _FOLDERS if path.is_dir()), _FOLDERS[0])
"""The folder of the built-in corpus: inside the installed package, else in the clone."""


class PairsCorpus(TranslationDataModule):
    """Sentence pairs that are given as Python objects.

    Args:
        train: (source, target) sentences or `SentencePair`.
        validation: The same, or None with `fraction`.
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


class ParallelText(TranslationDataModule):
    """Files of two languages, one sentence a line; line n of one translates line n of the other.

    Plain text, .gz, .bz2 or .xz, UTF-8. A source file with both languages, in any format of `TabSeparatedText`, needs
    no target file.

    Args:
        train: Files ``source`` and ``target``; patterns such as ``*.en`` match several files.
        validation: The same, or ``fraction``: the share of the training pairs to hold out.
        test: The same; without it, the validation split is scored at the end.
        source_column: Column of the source in files with both languages, see `TabSeparatedText`.
        target_column: Column of the target.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        train: Mapping[str, str | None],
        validation: Mapping[str, Any] | None = None,
        test: Mapping[str, str | None] | None = None,
        source_column: Column = None,
        target_column: Column = None,
        **options: Any,
    ) -> None:
        self.files = {"train": dict(train), "validation": dict(validation or {}), "test": dict(test or {})}
        super().__init__(fraction=self.files["validation"].get("fraction"), **options)
        self.columns = Columns((self.source_language, self.target_language), (source_column, target_column))
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
        require_held_out(self.files["validation"])
        return Splits(train, validation, test)

    def _pairs(self, split: str) -> list[SentencePair]:
        return read_split(f"data.{split}", self.files[split], self.columns)

    def checked_files(self, split: str) -> tuple[str, str]:
        """Return the source and target files, or patterns, of a split, see `two_files`."""
        return two_files(f"data.{split}", self.files[split])


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
        self.columns = Columns((self.source_language, self.target_language), (source_column, target_column))
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
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
            if self.is_own:
                sizes = len(split_words(source)), len(split_words(target))
                require_inside(where, every, sizes, "words and punctuation marks apart,")
            splits[name].append(SentencePair(source, target, every, possible))
        return Splits(splits["train"][: self.train_pairs], splits["validation"], splits["test"])


class TaskCorpus(TranslationDataModule):
    """Toy tasks with a known answer: dates, reversed symbols, numbers in words.

    Args:
        task: ``dates``, ``reverse`` or ``numbers``.
        train_pairs: Number of training pairs; no answer is in two splits.
        validation_pairs: Number of validation pairs.
        test_pairs: Number of test pairs.
        task_seed: Seed of the pairs.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        task: str = "dates",
        train_pairs: Positive = 10_000,
        validation_pairs: Positive = 500,
        test_pairs: NotNegative = 1000,
        task_seed: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.task, self.task_seed = task, task_seed
        self.sizes = {"train": train_pairs, "validation": validation_pairs, "test": test_pairs}

    def read(self) -> Splits:
        """Return the generated pairs."""
        options = self.task_seed, self.target_language
        return Splits(*(task_pairs(self.task, split, size, *options) for split, size in self.sizes.items()))


TEST_SETS = {
    "flickr_2016": "test_2016_flickr",
    "flickr_2017": "test_2017_flickr",
    "coco_2017": "test_2017_mscoco",
    "flickr_2018": "test_2018_flickr",
}
"""Names of files by the values of `data.test_set`; the name of the files is a value, too."""


class Multi30k(TranslationDataModule):
    """Captions of photographs in English, German, French and Czech: Multi30k, task 1.

    Elliott, Frank, Sima'an and Specia 2016, the files of the public repository multi30k/dataset.

    Args:
        root: Folder of the files, compressed or not.
        download: Fetch files that are missing in the folder.
        address: URL of the files.
        test_set: ``flickr_2016``, ``flickr_2017``, ``coco_2017`` or ``flickr_2018``; or as the files are named, such
            as ``test_2018_flickr``.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        root: str = "data/multi30k",
        download: bool = True,
        address: str = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw",
        test_set: str = "flickr_2016",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        stem = TEST_SETS.get(test_set, test_set)
        if stem not in TEST_SETS.values():
            raise InputError(f"data.test_set={test_set}: choose one of {', '.join(TEST_SETS)}")
        self.root, self.download = Path(root), download
        self.stems = "train", "val", stem
        languages = self.source_language, self.target_language
        import pooch

        self.registry = pooch.create(self.root, f"{address}/", env=None)
        self.registry.load_registry(Path(__file__).with_name("multi30k.txt"))
        for key, language in zip(("source_language", "target_language"), languages, strict=True):
            if f"{self.stems[2]}.{language}.gz" not in self.registry.registry:
                raise InputError(
                    f"data.{key}={language}: Multi30k has en, de, fr and cs (no cs in the test sets of 2017)"
                )
        if languages[0] == languages[1]:
            raise InputError(f"data.source_language and data.target_language are both {languages[0]}")

    def prepare_data(self) -> None:
        """Download missing files and check them.

        Raises:
            InputError: A file is missing that a folder below `root` has, or that cannot be downloaded.
        """
        missing = [path.name for path in chain(*self._paths()) if not path.exists()]
        if not missing:
            return
        lacks = (
            f"data.root={self.root} lacks {missing[0]}"
            if self.root.is_dir()
            else f"there is no folder data.root={self.root}"
        )
        names = missing[0], missing[0].removesuffix(".gz")
        below = [
            path
            for place in ("*", "data/task1/raw")
            for name in names
            for path in self.root.glob(f"{place}/{name}")
        ]
        if below:
            raise InputError(f"{lacks}: give data.root={below[0].parent}")
        if not self.download:
            raise InputError(f"{lacks}: give another data.root, or data.download=true")
        announce(f"{lacks}: downloading {counted(len(missing), 'file')}")
        new = [each for each in (self.root, *self.root.parents) if not each.exists()]
        try:
            for name in missing:
                self.registry.fetch(name, progressbar=True)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{lacks}, and the download fails ({type(error).__name__}): download the files of "
                f"multi30k/dataset, data/task1/raw, into a folder and set data.root to it"
            ) from error
        finally:
            for each in new:  # those that hold nothing
                with suppress(OSError):
                    each.rmdir()

    def _paths(self) -> list[list[Path]]:
        """Return the two files of each split: decompressed if only those exist, else compressed."""

        def path(name: str) -> Path:
            plain, packed = self.root / name, self.root / f"{name}.gz"
            return plain if plain.exists() and not packed.exists() else packed

        sides = self.source_language, self.target_language
        return [[path(f"{stem}.{side}") for side in sides] for stem in self.stems]

    def read(self) -> Splits:
        """Read the files."""
        self.prepare_data()
        return Splits(*(read_parallel(*paths) for paths in self._paths()))


class HuggingFaceCorpus(TranslationDataModule):
    """A translation dataset in the format of Hugging Face, from a local folder or by name.

    Args:
        dataset: Name on the hub; or a folder with ``train.jsonl``, ``validation.jsonl`` and so on.
        subset: Configuration of the dataset; None: the only one.
        revision: Commit, tag or branch on the hub; None: the newest.
        source_column: Column of the source, such as ``translation.en`` of a column with ``{"en": …, "de": …}``, by name or
            number from 1; None: found by the names of languages.
        target_column: The same for the target; both or neither are given.
        train_split: Name of the training split.
        validation_split: Name of the validation split; not used with `fraction`.
        test_split: Name of the test split; None for no test split.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        dataset: str,
        subset: str | None = None,
        revision: str | None = None,
        source_column: Column = None,
        target_column: Column = None,
        train_split: str = "train",
        validation_split: str | None = "validation",
        test_split: str | None = "test",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.dataset, self.subset, self.revision = dataset, subset, revision
        self.columns = Columns((self.source_language, self.target_language), (source_column, target_column))
        self.names = {
            "train_split": train_split,
            "validation_split": None if self.fraction is not None else validation_split,
            "test_split": test_split,
        }

    def read(self) -> Splits:
        """Load the dataset."""
        if self.dataset.startswith((".", "/")) and not Path(self.dataset).is_dir():
            raise InputError(f"data.dataset={self.dataset}: there is no such folder")
        try:
            import datasets
        except ImportError as error:
            raise InputError("data=hf needs a package: pip install datasets") from error
        try:
            named: dict[str, Any] = {"path": self.dataset, "name": self.subset, "revision": self.revision}
            if hasattr(datasets.load_dataset_builder(**named).config, "keep_default_na"):
                # a table, in which words such as "null" and numbers such as "007" would be read as other values
                first = next(iter(datasets.load_dataset(**named, nrows=1).values()))
                text = datasets.Features({name: datasets.Value("string") for name in first.column_names})
                named |= {"keep_default_na": False, "features": text}
            loaded = datasets.load_dataset(**named)
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            reason = next(iter(str(error.__cause__ or error).strip().splitlines()), "no reason given")
            raise InputError(
                f"data.dataset={self.dataset} cannot be loaded ({reason}): give a name on the hub, or a "
                "folder with data files such as train.jsonl"
            ) from error
        found = []
        for key, split in self.names.items():
            if split is not None and split not in loaded:
                raise InputError(
                    f"data.{key}={split}: {self.dataset} has no such split; there are {', '.join(loaded)}"
                )
            found.append([] if split is None else self._pairs(loaded[split]))
        return Splits(*found)

    def _pairs(self, rows: Any) -> list[SentencePair]:
        rows = rows.flatten()  # {"translation": {"en": …}} becomes the column translation.en
        names = rows.column_names
        chosen = {names[place]: rows[names[place]] for place in self.columns.choose(self.dataset, names)}
        self.columns.require_text(self.dataset, names, chosen)
        try:
            source, target = ([cell_text(cell) for cell in cells] for cells in chosen.values())
        except TypeError as error:
            raise InputError(
                f"{self.dataset}: a {error}, not a text: set data.source_column and data.target_column to other columns"
                + ("; dates of JSON lines are read as written by data=tsv" if "date" in str(error) else "")
            ) from error
        return [SentencePair(*pair) for pair in zip(source, target, strict=True)]
