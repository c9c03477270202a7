"""Batches of random tokens whose lengths are like those of Multi30k."""

from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from benchmarks.sizes import Size
from seq2seq.text.batch import Batch
from seq2seq.text.bucketing import BatchSize, shuffled_order
from seq2seq.text.corpus import SentencePair
from seq2seq.text.store import EncodedSplit, TokenStore
from seq2seq.text.vocabulary import SPECIALS

BUCKETED_FROM = 50
"""Batches' worth of sentences among which batches of like length are looked for."""

Lengths = NDArray[np.integer]


def draw_lengths(count: int, *, seed: int) -> tuple[Lengths, Lengths]:
    """Tokens of source and target without special ones: about 13 +- 4, as pairs of like length."""
    generator = np.random.default_rng(seed)
    source = np.clip(generator.normal(13, 4, count).round(), 4, 40)
    target = np.clip((source + generator.normal(0, 2, count)).round(), 4, 42)
    return source.astype(np.int64), target.astype(np.int64)


def split_of(source: Lengths, target: Lengths, vocabulary: int, *, seed: int = 0) -> EncodedSplit:
    """Pairs of random tokens of given lengths."""
    generator = np.random.default_rng(seed)

    def draw(lengths: Lengths) -> TokenStore:
        return TokenStore.from_sentences(
            [generator.integers(len(SPECIALS), vocabulary, length).tolist() for length in lengths]
        )

    pairs = [SentencePair("", "")] * len(source)
    return EncodedSplit(pairs, draw(source), draw(target), num_blank=0, num_long=0)


def training_batches(size: Size, count: int, *, bucketed: bool) -> list[Batch]:
    """Batches as a loader gives them that shuffles, or one that joins sentences of like length."""
    num_sentences = size.sentences * (BUCKETED_FROM if bucketed else count)
    source, target = draw_lengths(num_sentences, seed=1)
    bound = BatchSize(sentences=size.sentences, tokens=None)
    order: Iterable[Lengths] = np.split(np.arange(num_sentences), num_sentences // size.sentences)
    if bucketed:
        order = shuffled_order(source, target, bound, seed=1, epoch=0)
    chosen = np.concatenate(list(islice(order, count)))
    split = split_of(source[chosen], target[chosen], size.vocabulary)
    places = np.split(np.arange(len(chosen)), count)
    return [Batch.from_split(split, place.tolist()) for place in places]


def even_batch(sentences: int, source: int, target: int, vocabulary: int) -> Batch:
    """A batch without padding, S = `source` and T = `target`."""
    lengths = np.ones(sentences, dtype=np.int64)
    split = split_of(lengths * (source - 1), lengths * (target - 1), vocabulary)
    return Batch.from_split(split, list(range(sentences)))
