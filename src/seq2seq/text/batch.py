"""Padded batches. This module owns padding, the shift by one of the target, and the masks."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from seq2seq.text.store import EncodedSplit
from seq2seq.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Source sentences: tokens, then ``<eos>``, then padding.

    Attributes:
        ids: token ids (B, S).
        lengths: real tokens of each sentence, ``<eos>`` included (B).
    """

    ids: Int[Tensor, "B S"]
    lengths: Int[Tensor, " B"]

    @classmethod
    def from_sentences(
        cls, sentences: Sequence[Sequence[int] | NDArray[np.integer]]
    ) -> "SourceBatch":
        """Pad sentences of ids."""
        lengths = torch.tensor([len(sentence) + 1 for sentence in sentences])
        return cls(_padded(sentences, first=(), last=(END_ID,)), lengths)

    @property
    def is_token(self) -> Bool[Tensor, "B S"]:
        """True on real tokens, False on padding."""
        return _is_token(self.ids, self.lengths)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "SourceBatch":
        """The same batch on another device."""
        return _moved(self, device, non_blocking)


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentence pairs for teacher forcing.

    Attributes:
        source: the source sentences.
        target_input: ``<bos>`` and the target tokens (B, T).
        target_output: the target tokens and ``<eos>`` (B, T).
        target_lengths: real tokens of either (B).
        sentence_ids: place of each pair in its split (B).
    """

    source: SourceBatch
    target_input: Int[Tensor, "B T"]
    target_output: Int[Tensor, "B T"]
    target_lengths: Int[Tensor, " B"]
    sentence_ids: Int[Tensor, " B"]

    @classmethod
    def from_split(cls, split: EncodedSplit, sentence_ids: Sequence[int]) -> "Batch":
        """The batch of some sentences of a split."""
        targets = [split.target[index] for index in sentence_ids]
        return cls(
            source=SourceBatch.from_sentences([split.source[index] for index in sentence_ids]),
            target_input=_padded(targets, first=(BEGIN_ID,), last=()),
            target_output=_padded(targets, first=(), last=(END_ID,)),
            target_lengths=torch.tensor([len(target) + 1 for target in targets]),
            sentence_ids=torch.as_tensor(sentence_ids),
        )

    def __len__(self) -> int:
        return len(self.sentence_ids)

    @property
    def target_is_token(self) -> Bool[Tensor, "B T"]:
        """True where `target_output` is a real token, False on padding."""
        return _is_token(self.target_output, self.target_lengths)

    def twice(self) -> "Batch":
        """Every pair twice: the whole batch, then the whole batch again."""
        source = SourceBatch(self.source.ids.repeat(2, 1), self.source.lengths.repeat(2))
        return Batch(
            source=source,
            target_input=self.target_input.repeat(2, 1),
            target_output=self.target_output.repeat(2, 1),
            target_lengths=self.target_lengths.repeat(2),
            sentence_ids=self.sentence_ids.repeat(2),
        )

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "Batch":
        """The same batch on another device."""
        return _moved(self, device, non_blocking)


AnyBatch = TypeVar("AnyBatch", SourceBatch, Batch)


def _moved(batch: AnyBatch, device: torch.device, non_blocking: bool) -> AnyBatch:
    moved = {
        field.name: getattr(batch, field.name).to(device, non_blocking=non_blocking)
        for field in fields(batch)
    }
    return type(batch)(**moved)


def _padded(
    sentences: Sequence[Sequence[int] | NDArray[np.integer]],
    *,
    first: tuple[int, ...],
    last: tuple[int, ...],
) -> Tensor:
    """Sentences between `first` and `last`, filled up with padding to one length."""
    width = max(len(sentence) for sentence in sentences) + len(first) + len(last)
    padded = np.full((len(sentences), width), PADDING_ID, dtype=np.int64)
    for row, sentence in zip(padded, sentences, strict=True):
        row[: len(first)] = first
        end = len(first) + len(sentence)
        row[len(first) : end] = sentence
        row[end : end + len(last)] = last
    return torch.from_numpy(padded)


def _is_token(ids: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
