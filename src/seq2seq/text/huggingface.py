"""Translation datasets in the format of Hugging Face, from a local folder or by name.

The one file that imports `datasets`, an optional extra. Since its version 4 that library runs no
code that comes with a dataset.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2seq.errors import InputError
from seq2seq.text.corpus import SentencePair
from seq2seq.text.files import InputFile, require_held

TEXTS = {".jsonl", ".csv", ".tsv", ".txt"}
"""Files of a local dataset that hold a row a line."""


@dataclass(frozen=True, slots=True)
class HubDataset:
    """Where a dataset is, and where its two languages are in it.

    Attributes:
        name: name on the hub, or a local folder: data files such as ``train.jsonl``,
            ``test.parquet``, or what `save_to_disk` wrote.
        subset: configuration of the dataset; None for its only one.
        revision: commit, tag or branch on the hub; None for the newest.
        column: column that holds a mapping from language to text; None where every language is a
            column of its own.
        languages: source and target language, as the dataset names them.
    """

    name: str
    subset: str | None
    revision: str | None
    column: str | None
    languages: tuple[str, str]


class HubSplits:
    """The splits of a dataset.

    Raises:
        InputError: `datasets` is not installed, or there is no such dataset.
    """

    def __init__(self, dataset: HubDataset) -> None:
        self._dataset = dataset
        self._splits = _load(dataset)

    def pairs(self, key: str, split: str) -> list[SentencePair]:
        """The sentence pairs of a split.

        `key` is the configuration key that names the split, for the message.

        Raises:
            InputError: there is no such split, or it has no such languages.
        """
        if split not in self._splits:
            raise InputError(
                f"{key}={split}: {self._dataset.name} has no such split; "
                f"there are {', '.join(self._splits)}"
            )
        return list(self._rows(self._splits[split]))

    def _rows(self, rows: Any) -> Iterator[SentencePair]:
        source, target = self._dataset.languages
        self._require_column(rows.column_names)
        num_characters = 0
        for number, row in enumerate(rows, start=1):
            texts = row if self._dataset.column is None else row[self._dataset.column]
            for key, language in (("source", source), ("target", target)):
                if not isinstance(texts, dict) or not isinstance(texts.get(language), str):
                    raise InputError(
                        f"{self._dataset.name}, row {number}: no text in {language}; there are "
                        f"{_names(texts)}: set data.{key}_language to one of them"
                    )
            num_characters += len(texts[source]) + len(texts[target])
            require_held(self._dataset.name, num_characters, number)
            yield SentencePair(texts[source], texts[target])

    def _require_column(self, columns: list[str]) -> None:
        column = self._dataset.column
        if column is not None and column not in columns:
            raise InputError(
                f"data.column={column}: {self._dataset.name} has no such column; there are "
                f"{', '.join(columns)} (data.column=null where each language is a column)"
            )


def _names(texts: Any) -> str:
    return ", ".join(texts) if isinstance(texts, dict) else f"no languages but {texts!r:.40}"


def _require_bounded(folder: Path) -> None:
    """Refuse files that the library would unpack, or take for a line, until the machine is full."""
    for path in filter(Path.is_file, folder.rglob("*")):
        with InputFile(path) as file:
            if file.kind or path.suffix in TEXTS:
                for _ in file.held():
                    pass
        require_held(str(path), path.stat().st_size, 0)


def _load(dataset: HubDataset) -> Any:
    """A mapping from split to rows."""
    folder = Path(dataset.name)
    if dataset.name.startswith((".", "/")) and not folder.is_dir():
        raise InputError(f"data.dataset={dataset.name}: there is no such folder")
    try:
        import datasets  # noqa: PLC0415 - an optional extra, and slow to import
    except ImportError as error:
        raise InputError(
            "data=hf needs the package datasets: pip install 'seq2seq-attention[hf]'"
        ) from error
    if folder.is_dir():
        _require_bounded(folder)
    try:
        return datasets.load_dataset(dataset.name, dataset.subset, revision=dataset.revision)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        # the cause of a failed reading, where there is one, says more than the failure
        reason = next(iter(str(error.__cause__ or error).strip().splitlines()), "no reason given")
        raise InputError(
            f"data.dataset={dataset.name} cannot be loaded ({reason}): "
            "give a name on the hub, or a folder with data files such as train.jsonl"
        ) from error
