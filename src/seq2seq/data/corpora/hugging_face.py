"""Datasets of Hugging Face."""

from pathlib import Path
from typing import Any

from bitext import Column, cell_text
from seq2seq.common.errors import InputError
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.files import columns_of
from seq2seq.data.text import SentencePair, Splits, refusing


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
        validation_split: Name of the validation split; not used with `split`.
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
        self.columns = columns_of(self.source_language, self.target_language, source_column, target_column)
        self.names = {
            "train_split": train_split,
            "validation_split": None if self.split else validation_split,
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
        with refusing():
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
