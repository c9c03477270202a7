"""Datasets of torchtext 0.6: `TranslationDataset` and its relatives, made by a function of your own."""

from collections.abc import Iterable, Sequence
from typing import Any

from seq2seq.common.progress import warn
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.text import SentencePair, Splits
from seq2seq.data.tokenizers import WhitespaceTokenizer
from seq2seq.errors import InputError


class TorchtextCorpus(TranslationDataModule):
    """Datasets of torchtext with a field for each language.

    ``data.dataset._target_=my_file.my_dataset`` names a function that returns them, as
    ``TranslationDataset.splits(…)`` does. A field that has split the text gives its tokens, joined by spaces, so that
    ``tokenizer=whitespace`` keeps the tokens; the vocabulary and the special tokens of the fields are not used.

    Args:
        dataset: Datasets for training, validation and test; or one, with `fraction`.
        source_field: Name of the field of the source.
        target_field: Name of the field of the target.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self, *, dataset: Any, source_field: str = "src", target_field: str = "trg", **options: Any
    ) -> None:
        super().__init__(**options)
        self.datasets: Sequence[Any] = dataset if isinstance(dataset, Sequence) else [dataset]
        self.fields = {"data.source_field": source_field, "data.target_field": target_field}
        if not 1 <= len(self.datasets) <= 3 or not all(hasattr(each, "examples") for each in self.datasets):
            raise InputError(
                f"data.dataset gives {type(dataset).__name__}: a function is needed that returns one to three datasets of "
                "torchtext 0.6, such as TranslationDataset.splits(…)"
            )
        if len(self.datasets) == 1 and self.fraction is None:
            raise InputError(
                "data.dataset gives one dataset: set data.fraction, for example +data.fraction=0.02"
            )

    def read(self) -> Splits:
        """Return the examples as text."""
        splits = [self._pairs(dataset.examples) for dataset in self.datasets]
        if len(splits) == 2 and self.fraction is not None:
            return Splits(splits[0], [], splits[1])
        return Splits(*splits, *([[]] if len(splits) == 1 else []))

    def _pairs(self, examples: Iterable[Any]) -> list[SentencePair]:
        pairs, is_split = [], False
        for example in examples:
            sides = []
            for key, name in self.fields.items():
                value = getattr(example, name, None)
                if not isinstance(value, str | list):
                    raise InputError(
                        f"{key}={name}: an example has no text or tokens there; it has {', '.join(vars(example))}"
                    )
                is_split |= isinstance(value, list)
                sides.append(value if isinstance(value, str) else " ".join(map(str, value)))
            pairs.append(SentencePair(sides[0], sides[1]))
        if is_split and getattr(self.tokenizer, "func", self.tokenizer) is not WhitespaceTokenizer:
            warn("the fields of torchtext have split the text: tokenizer=whitespace keeps their tokens")
        return pairs
