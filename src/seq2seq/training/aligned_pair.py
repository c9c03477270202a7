"""A sentence pair of a split with links of its words, and the words that its tokens belong to."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seq2seq.decoding.aligner import token_words
from seq2seq.evaluation.alignment import (
    AlignmentCounts,
    GoldAlignment,
    argmax_links,
    best_links,
    merge_words,
)
from seq2seq.text.codec import TextCodec
from seq2seq.text.store import EncodedSplit
from seq2seq.text.words import split_words


@dataclass(frozen=True)
class AlignedPair:
    """Links of a pair, and the words of its source and its target tokens, ``<eos>`` left out."""

    gold: GoldAlignment
    source_words: list[int | None]
    target_words: list[int | None]

    @classmethod
    def of(
        cls, split: EncodedSplit, index: int, source_codec: TextCodec, target_codec: TextCodec
    ) -> "AlignedPair":
        """A pair of a split, which has links; the tokens of a side may have been cut."""
        pair = split.pairs[index]
        return cls(
            GoldAlignment.from_links(pair.alignment or (), pair.possible),
            _words(source_codec, pair.source)[: len(split.source[index])],
            _words(target_codec, pair.target)[: len(split.target[index])],
        )

    def compared(self, weights: NDArray[np.float32]) -> AlignmentCounts:
        """The alignment by weights, ``<eos>`` left out, against gold."""
        merged = merge_words(weights, self.source_words, self.target_words)
        return AlignmentCounts.of(argmax_links(merged), self.gold)

    @cached_property
    def least(self) -> AlignmentCounts:
        """The best alignment that there is."""
        sides = (
            {word for word in s if word is not None} for s in (self.source_words, self.target_words)
        )
        return AlignmentCounts.of(best_links(self.gold, *sides), self.gold)


def _words(codec: TextCodec, text: str) -> list[int | None]:
    return token_words(codec, text, split_words(text))
