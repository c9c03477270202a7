"""Encoded splits and padded batches: padding, the shift by one of the target, and the masks."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID

Ids = Sequence[int] | NDArray[np.integer]
"""Token ids of a sentence."""


class Side(Protocol):
    """One side of a split: the token ids of its sentences."""

    @property
    def ids(self) -> NDArray[np.integer]:
        """All ids."""

    @property
    def lengths(self) -> NDArray[np.integer]:
        """Number of tokens of each sentence."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> NDArray[np.integer]: ...

    def __iter__(self) -> Iterator[NDArray[np.integer]]: ...


@dataclass(frozen=True, slots=True)
class Sentences:
    """Token ids of many sentences, one after another, in memory.

    Attributes:
        ids: All ids.
        offsets: Sentence i is ``ids[offsets[i]:offsets[i + 1]]``.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def from_lists(cls, sentences: Sequence[Sequence[int]]) -> "Sentences":
        """Pack sentences of ids."""
        offsets = np.zeros(len(sentences) + 1, dtype=np.int64)
        np.cumsum([len(sentence) for sentence in sentences], out=offsets[1:])
        ids = np.fromiter((i for sentence in sentences for i in sentence), np.int32, count=offsets[-1])
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int, /) -> NDArray[np.int32]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[index] for index in range(len(self)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each sentence."""
        return np.diff(self.offsets)


def checksum_of(pairs: Iterable[SentencePair]) -> int:
    """Return a sum of the text and the alignment of every pair."""
    total = 0
    for pair in pairs:
        line = f"{pair.source}\t{pair.target}\t{pair.alignment}\n"
        total = zlib.crc32(line.encode(errors="surrogatepass"), total)
    return total


@dataclass(frozen=True, slots=True)
class EncodedSplit:
    """A split ready for batching.

    Attributes:
        pairs: The pairs as text.
        source: Token ids of the source sentences, without special tokens.
        target: Token ids of the target sentences, without special tokens.
        num_blank: Number of training pairs that were left out because a side is blank.
        num_long: Number of pairs that were left out because a side is longer than the limit.
        num_cut: Number of pairs of which such a side was cut.
    """

    pairs: Sequence[SentencePair]
    source: Side
    target: Side
    num_blank: int = 0
    num_long: int = 0
    num_cut: int = 0

    def __len__(self) -> int:
        return len(self.source)

    @property
    def checksum(self) -> int:
        """Sum of the text and the alignment of every pair."""
        return checksum_of(self.pairs)


@dataclass(slots=True, eq=False)  # not frozen: Lightning's precision plugins copy it part by part
class SourceBatch:
    """Source sentences: tokens, then ``<eos>``, then padding.

    Attributes:
        ids: Token ids (B, S).
        lengths: Number of real tokens of each sentence, ``<eos>`` included (B).
    """

    ids: Tensor
    lengths: Tensor

    @classmethod
    def from_sentences(cls, sentences: Sequence[Ids]) -> "SourceBatch":
        """Return a batch of padded sentences."""
        lengths = torch.tensor([len(sentence) + 1 for sentence in sentences])
        return cls(_padded(sentences, first=(), last=(END_ID,)), lengths)

    @property
    def is_token(self) -> Tensor:
        """True on real tokens, False on padding."""
        return _is_token(self.ids, self.lengths)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "SourceBatch":
        """Return the same batch on another device."""
        return SourceBatch(*(each.to(device, non_blocking=non_blocking) for each in (self.ids, self.lengths)))


@dataclass(slots=True, eq=False)  # not frozen: Lightning's precision plugins copy it part by part
class Batch:
    """Sentence pairs for teacher forcing.

    Attributes:
        source: The source sentences.
        target_input: ``<bos>`` and the target tokens (B, T).
        target_output: The target tokens and ``<eos>`` (B, T).
        target_lengths: Number of real tokens of both (B).
        sentence_ids: Index of each pair in its split (B).
    """

    source: SourceBatch
    target_input: Tensor
    target_output: Tensor
    target_lengths: Tensor
    sentence_ids: Tensor

    @classmethod
    def from_split(cls, split: EncodedSplit, sentence_ids: Sequence[int]) -> "Batch":
        """Return the batch of some sentences of a split."""
        sources, targets = ([side[place] for place in sentence_ids] for side in (split.source, split.target))
        return cls(
            source=SourceBatch.from_sentences(sources),
            target_input=_padded(targets, first=(BEGIN_ID,), last=()),
            target_output=_padded(targets, first=(), last=(END_ID,)),
            target_lengths=torch.tensor([len(target) + 1 for target in targets]),
            sentence_ids=torch.as_tensor(sentence_ids),
        )

    def __len__(self) -> int:
        return len(self.sentence_ids)

    @property
    def target_is_token(self) -> Tensor:
        """True where `target_output` is a real token, False on padding."""
        return _is_token(self.target_output, self.target_lengths)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> "Batch":
        """Return the same batch on another device."""
        moved = (getattr(self, field.name).to(device, non_blocking=non_blocking) for field in fields(self))
        return Batch(*moved)


def _is_token(ids: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(-1)


def _padded(sentences: Sequence[Ids], *, first: tuple[int, ...], last: tuple[int, ...]) -> Tensor:
    """Return sentences between `first` and `last`, padded to the same length."""
    width = max(len(sentence) for sentence in sentences) + len(first) + len(last)
    padded = np.full((len(sentences), width), PADDING_ID, dtype=np.int64)
    for row, sentence in zip(padded, sentences, strict=True):
        row[: len(first)] = first
        end = len(first) + len(sentence)
        row[len(first) : end] = sentence
        row[end : end + len(last)] = last
    return torch.from_numpy(padded)
