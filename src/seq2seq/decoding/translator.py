"""Text in, translations with scores and attention out."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seq2seq.decoding.greedy import Hypothesis, greedy_search
from seq2seq.decoding.model_folder import TranslationModel, load_model_folder
from seq2seq.text.batch import SourceBatch
from seq2seq.text.bucketing import BatchSize, sorted_order
from seq2seq.text.vocabulary import END, UNKNOWN_ID

WINDOW = 2048
"""Sentences that are read ahead and sorted by length before they are cut into batches."""


LONGEST = 1000
"""Tokens of a sentence that are translated; time and memory grow with their square."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated sentence.

    Attributes:
        text: the translation.
        source_tokens: tokens of the source, ``<eos>`` included: the columns of `weights`.
        target_tokens: tokens of the translation, ``<eos>`` included: the rows of `weights`.
        score: natural log-probability of the target tokens.
        weights: attention probabilities.
    """

    text: str
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    score: float
    weights: Tensor


EMPTY = Translation("", (), (), 0.0, torch.zeros(0, 0))
"""The translation of a blank line."""


class Translator:
    """Translates text with a trained model.

    Args:
        exported: the model and its codecs.
        device: where to compute.
        batch_size: bound of a batch.
    """

    def __init__(
        self,
        exported: TranslationModel,
        *,
        device: torch.device,
        batch_size: BatchSize,
    ) -> None:
        self._model = exported.model.to(device).eval()
        self._source_codec = exported.source_codec
        self._target_codec = exported.target_codec
        self._device = device
        self._batch_size = batch_size

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu", max_tokens: int = 4096) -> "Translator":
        """Load a model folder or a run folder.

        Raises:
            InputError: there is no model of this program.
        """
        return cls(
            load_model_folder(Path(path)),
            device=torch.device(device),
            batch_size=BatchSize(sentences=None, tokens=max_tokens),
        )

    def translate(self, sentences: Sequence[str]) -> list[Translation]:
        """Translate sentences; a blank one gives a blank translation."""
        encoded = [cut(self._source_codec.encode(sentence)) for sentence in sentences]
        translations = [EMPTY] * len(sentences)
        filled = np.array(
            [index for index, sentence in enumerate(sentences) if sentence.strip()], dtype=np.int64
        )
        lengths = np.array([len(encoded[index]) for index in filled], dtype=np.int64)
        for batch in sorted_order(lengths, lengths, self._batch_size):
            indices = filled[batch].tolist()
            source = SourceBatch.from_sentences([encoded[index] for index in indices])
            hypotheses = greedy_search(self._model, source.to(self._device))
            for index, hypothesis in zip(indices, hypotheses, strict=True):
                translations[index] = self._translation(encoded[index], hypothesis)
        return translations

    def stream(self, lines: Iterable[str]) -> Iterator[Translation]:
        """Translate an endless input in order, a window of lines at a time."""
        iterator = iter(lines)
        while window := list(islice(iterator, WINDOW)):
            yield from self.translate(window)

    def unknown_tokens(self, sentence: str) -> list[str]:
        """Tokens of a source sentence that the vocabulary lacks; the model reads ``<unk>``."""
        tokens = self._source_codec.tokenizer.tokens(sentence)
        ids = self._source_codec.vocabulary.ids(tokens)
        return [token for token, index in zip(tokens, ids, strict=True) if index == UNKNOWN_ID]

    def _translation(self, source_ids: list[int], hypothesis: Hypothesis) -> Translation:
        return Translation(
            text=self._target_codec.decode(hypothesis.ids),
            source_tokens=(*self._source_codec.vocabulary.words(source_ids), END),
            target_tokens=tuple(self._target_codec.vocabulary.words(hypothesis.ids)),
            score=hypothesis.score,
            weights=hypothesis.weights,
        )


def cut(ids: list[int]) -> list[int]:
    """The first `LONGEST` ids, with a line of warning where there are more."""
    if len(ids) > LONGEST:
        message = f"WARNING: of a line of {len(ids):,} tokens the first {LONGEST:,} are translated"
        print(message, file=sys.stderr)
    return ids[:LONGEST]
