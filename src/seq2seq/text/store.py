"""A corpus as token ids, held in flat arrays in memory. On disk: `corpus_folder`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from seq2seq.errors import InputError
from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import SentencePair, drop_blank
from seq2seq.text.vocabulary import UNKNOWN_ID


class EncodedSentences(Protocol):
    """Token ids of many sentences, wherever they are held."""

    @property
    def lengths(self) -> NDArray[np.integer]:
        """Number of tokens of each sentence."""
        ...

    @property
    def num_unknown(self) -> int:
        """How many tokens are ``<unk>``."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> NDArray[np.integer]: ...


@dataclass(frozen=True, slots=True)
class TokenStore:
    """Token ids of many sentences, one after another in memory.

    Attributes:
        ids: all ids.
        offsets: sentence i is ``ids[offsets[i]:offsets[i + 1]]``.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def from_sentences(cls, sentences: Sequence[Sequence[int]]) -> "TokenStore":
        """Pack sentences of ids."""
        offsets = np.zeros(len(sentences) + 1, dtype=np.int64)
        np.cumsum([len(sentence) for sentence in sentences], out=offsets[1:])
        ids = np.fromiter(
            (index for sentence in sentences for index in sentence), np.int32, count=offsets[-1]
        )
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each sentence."""
        return np.diff(self.offsets)

    @property
    def num_unknown(self) -> int:
        """How many tokens are ``<unk>``."""
        return int(np.count_nonzero(self.ids == UNKNOWN_ID))


@dataclass(frozen=True, slots=True)
class EncodedSplit:
    """A split ready for batching: its pairs as text and as token ids, and what was dropped.

    Attributes:
        pairs: the kept pairs.
        source: token ids of the source sentences, without special tokens.
        target: token ids of the target sentences, without special tokens.
        num_blank: pairs dropped because a side is blank.
        num_long: pairs dropped because a side is over the length bound.
    """

    pairs: Sequence[SentencePair]
    source: EncodedSentences
    target: EncodedSentences
    num_blank: int
    num_long: int

    def __len__(self) -> int:
        return len(self.source)


def encode_split(
    pairs: Sequence[SentencePair],
    codecs: tuple[TextCodec, TextCodec],
    *,
    max_length: int | None,
    truncate: bool,
) -> EncodedSplit:
    """Turn pairs into ids.

    Blank pairs are dropped. Pairs with a side over `max_length` tokens are dropped too, or cut to
    that length where `truncate` is set.
    """
    filled = drop_blank(pairs)
    cut = max_length if truncate else None
    sources = [ids[:cut] for ids in codecs[0].encode_all([pair.source for pair in filled])]
    targets = [ids[:cut] for ids in codecs[1].encode_all([pair.target for pair in filled])]
    kept = [
        index
        for index, (source, target) in enumerate(zip(sources, targets, strict=True))
        if max_length is None or max(len(source), len(target)) <= max_length
    ]
    return EncodedSplit(
        pairs=[filled[index] for index in kept],
        source=TokenStore.from_sentences([sources[index] for index in kept]),
        target=TokenStore.from_sentences([targets[index] for index in kept]),
        num_blank=len(pairs) - len(filled),
        num_long=len(filled) - len(kept),
    )


def require_pairs(name: str, split: EncodedSplit) -> None:
    """Refuse a split of which nothing is left.

    Raises:
        InputError: the split is empty.
    """
    if not len(split):
        raise InputError(
            f"no {name} pair is left: {split.num_blank} blank, {split.num_long} longer than "
            "data.max_length; check the files or raise data.max_length"
        )


def unknown_share(sentences: EncodedSentences) -> float:
    """Share of tokens that are ``<unk>``."""
    return sentences.num_unknown / max(int(sentences.lengths.sum()), 1)
