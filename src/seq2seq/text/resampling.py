"""A training split whose sentences are split into subwords anew in every epoch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from seq2seq.text.codec import TextCodec
from seq2seq.text.store import EncodedSplit, TokenStore


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
        """The split as it is read in an epoch."""
        sources = [pair.source for pair in split.pairs]
        targets = [pair.target for pair in split.pairs]
        return replace(
            split,
            source=self._store(self.source_codec, sources, split.source, (epoch, 0)),
            target=self._store(self.target_codec, targets, split.target, (epoch, 1)),
        )

    def _store(
        self, codec: TextCodec, texts: Sequence[str], usual: TokenStore, stream: tuple[int, int]
    ) -> TokenStore:
        seeds = np.random.default_rng((self.seed, *stream)).integers(2**32, size=len(texts))
        drawn = [
            codec.sample(text, self.alpha, seed)
            for text, seed in zip(texts, seeds.tolist(), strict=True)
        ]
        bound = self.max_length
        return TokenStore.from_sentences(
            [
                ids if bound is None or len(ids) <= bound else usual[index].tolist()
                for index, ids in enumerate(drawn)
            ]
        )
