"""A training split whose sentences are split into subwords anew in every epoch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import SentencePair
from seq2seq.text.store import EncodedSentences, EncodedSplit
from seq2seq.text.vocabulary import UNKNOWN_ID


@dataclass(frozen=True, slots=True)
class Resampling:
    """Subword regularisation (Kudo 2018; Provilkov et al. 2020).

    The segmentation is a function of seed, epoch, side and sentence alone, which exact resuming
    stands on.

    Attributes:
        source_codec: of the source language.
        target_codec: of the target language.
        alpha: see `SubwordTokenizer.sampled_tokens`.
        seed: of the draws.
        max_length: longer sentences keep their usual segmentation; None for no bound.
    """

    source_codec: TextCodec
    target_codec: TextCodec
    alpha: float
    seed: int
    max_length: int | None

    def split(self, split: EncodedSplit, epoch: int) -> EncodedSplit:
        """The split as it is read in an epoch: every sentence is drawn when it is asked for."""
        codecs, usual = (self.source_codec, self.target_codec), (split.source, split.target)
        sources, targets = (
            SampledSentences(self, codecs[side], usual[side], (epoch, side), split.pairs)
            for side in (0, 1)
        )
        return replace(split, source=sources, target=targets)


class SampledSentences:
    """One side of a split in one epoch.

    `usual` are the sentences as they are split where nothing is drawn, `stream` the epoch and the
    side: 0 source, 1 target.
    """

    def __init__(
        self,
        resampling: Resampling,
        codec: TextCodec,
        usual: EncodedSentences,
        stream: tuple[int, int],
        pairs: Sequence[SentencePair],
    ) -> None:
        generator = np.random.default_rng((resampling.seed, *stream))
        self._seeds = generator.integers(2**32, size=len(usual), dtype=np.uint32)
        self._resampling = resampling
        self._codec = codec
        self._usual = usual
        self._side = "target" if stream[1] else "source"
        self._pairs = pairs

    def __len__(self) -> int:
        return len(self._usual)

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        text, bound = getattr(self._pairs[index], self._side), self._resampling.max_length
        drawn = self._codec.sample(text, self._resampling.alpha, int(self._seeds[index]))
        if bound is not None and len(drawn) > bound:
            return self._usual[index]
        return np.array(drawn, dtype=np.int32)

    @property
    def lengths(self) -> NDArray[np.integer]:
        """Number of tokens of each sentence; draws all of them."""
        return np.array([len(self[index]) for index in range(len(self))])

    @property
    def num_unknown(self) -> int:
        """How many tokens are ``<unk>``; draws all sentences."""
        return sum(int((self[index] == UNKNOWN_ID).sum()) for index in range(len(self)))
