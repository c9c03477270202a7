"""Datasets of torchtext 0.6: `TranslationDataset` and its relatives, made by a function of your own."""

from collections.abc import Sequence
from typing import Any

from seq2seq.common.errors import InputError
from seq2seq.common.progress import warn
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.text import SentencePair, Splits
from seq2seq.data.tokenizers import CharacterTokenizer, WhitespaceTokenizer


class TorchtextCorpus(TranslationDataModule):
    """Datasets of torchtext with a field for each language.

    ``data.dataset._target_=my_file.my_dataset`` names a function that returns them, as
    ``TranslationDataset.splits(…)`` or ``BucketIterator.splits(…)`` does. A field that has split the text gives its
    tokens, joined by spaces, so that ``tokenizer=whitespace`` keeps the tokens (``tokenizer=characters`` those that are
    characters); the vocabulary and the special tokens of the fields are not used.

    Args:
        dataset: Datasets for training, validation and test, or iterators over them; or one, with `split`.
        source_field: Name of the field of the source.
        target_field: Name of the field of the target.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self, *, dataset: Any, source_field: str = "src", target_field: str = "trg", **options: Any
    ) -> None:
        super().__init__(**options)
        from torchtext.data import Iterator

        given = dataset if isinstance(dataset, Sequence) else [dataset]
        self.datasets: Sequence[Any] = [
            each.dataset if isinstance(each, Iterator) else each for each in given
        ]
        self.fields = {"data.source_field": source_field, "data.target_field": target_field}
        if not 1 <= len(self.datasets) <= 3 or not all(hasattr(each, "examples") for each in self.datasets):
            raise InputError(
                f"data.dataset gives {', '.join(type(each).__name__ for each in given) or 'nothing'}: a function is needed that returns one to three datasets of "
                "torchtext 0.6, such as TranslationDataset.splits(…)"
            )
        if len(self.datasets) == 1 and self.split is None:
            raise InputError("data.dataset gives one dataset: give data.split.validation, such as 0.02")

    def read(self) -> Splits:
        """Return the examples as text."""
        splits = [self._pairs(dataset.examples) for dataset in self.datasets]
        if len(splits) == 2 and self.split:
            return Splits(splits[0], [], splits[1])
        return Splits(*splits, *([[]] if len(splits) == 1 else []))

    def _pairs(self, examples: Sequence[Any]) -> list[SentencePair]:
        sides = [self._texts(key, name, examples) for key, name in self.fields.items()]
        return [SentencePair(source, target) for source, target in zip(*sides, strict=True)]

    def _texts(self, key: str, name: str, examples: Sequence[Any]) -> list[str]:
        """Return the text of a field; tokens that are characters, spaces too, are joined as they are."""
        values: list[Any] = [getattr(example, name, None) for example in examples]
        for value, example in zip(values, examples, strict=True):
            if not isinstance(value, str | list):
                raise InputError(
                    f"{key}={name}: an example has no text or tokens there; it has {', '.join(vars(example))}"
                )
        tokens = [str(token) for value in values if isinstance(value, list) for token in value]
        is_by_letter = any(map(str.isspace, tokens)) and max(map(len, tokens)) == 1
        keeps = "characters" if is_by_letter else "whitespace"
        made = self.tokenizer if key == "data.source_field" else self.target_tokenizer
        is_kept = getattr(made, "func", made) is (CharacterTokenizer if is_by_letter else WhitespaceTokenizer)
        if tokens and not is_kept and examples is self.datasets[0].examples:  # said once
            warn(f"the field {name} of torchtext has split the text: tokenizer={keeps} keeps its tokens")
        mark = "" if is_by_letter else " "
        return [value if isinstance(value, str) else mark.join(map(str, value)) for value in values]
