"""Codecs and encoded splits of a corpus."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seq2seq.config import Config, DataConfig
from seq2seq.decoding.lengths import LONGEST, LengthBounds
from seq2seq.errors import InputError
from seq2seq.evaluation.alignment import reversed_links
from seq2seq.runs.making.decoding import build_bounds
from seq2seq.runs.making.tokenizers import codec_settings
from seq2seq.text.codec import TextCodec, load_codecs, save_codecs, train_codecs
from seq2seq.text.corpus import Alignment, ParallelCorpus, SentencePair, drop_blank
from seq2seq.text.sample import Sample
from seq2seq.text.store import EncodedSplit, encode_split, require_pairs
from seq2seq.text.text_digests import digests, least_digests


@dataclass(frozen=True, slots=True)
class EncodedCorpus:
    """A corpus ready for batching, with its codecs.

    Attributes:
        source_codec: of the source language.
        target_codec: of the target language.
        train: training split.
        digests: of its source sentences, see `likeness.LeastDigests`.
        validation: validation split.
        test: test pairs as text, scored at the end; may be empty.
        bounds: how long translations may be.
    """

    source_codec: TextCodec
    target_codec: TextCodec
    train: EncodedSplit
    digests: NDArray[np.uint64]
    validation: EncodedSplit
    test: list[SentencePair]
    bounds: LengthBounds

    def held_out(self) -> dict[str, Sequence[SentencePair]]:
        """The pairs of the other splits, by name."""
        splits = {"validation": self.validation.pairs, "test": self.test}
        return {name: pairs for name, pairs in splits.items() if pairs}


def encode_corpus(
    config: Config,
    corpus: ParallelCorpus,
    codecs: tuple[TextCodec, TextCodec] | None,
    folder: Path,
    *,
    writes: bool = True,
) -> EncodedCorpus:
    """Encode the splits.

    Only training loses its over-long pairs: scores count every sentence, whatever the settings.

    Args:
        config: how.
        corpus: the splits.
        codecs: of source and target; None to train them on the training split.
        folder: where codecs that are trained are kept.
        writes: whether to train and keep them; else they are read from there.

    Raises:
        InputError: no pair of a split is left.
    """
    if corpus.large:
        # not imported for corpora that are held in memory
        from seq2seq.runs.making.store import open_large_corpus  # noqa: PLC0415

        stored = open_large_corpus(config.data, corpus.large, codecs)
        validation = corpus.validation or stored.held_out
        train, known, used = stored.train, stored.digests, stored.codecs
        if codecs is None and writes:
            save_codecs(used, folder)
    else:
        used = codecs or (
            build_codecs(config.data, corpus, folder) if writes else load_codecs(folder)
        )
        train, validation = encode_pairs(config.data, corpus.train, used), corpus.validation
        known = least_digests(digests(pair.source for pair in train.pairs))
    require_pairs("training", train)
    validation_split = encode_held_out(validation, used)
    require_pairs("validation", validation_split)
    bounds = build_bounds(config.decoding, train)
    return EncodedCorpus(*used, train, known, validation_split, drop_blank(corpus.test), bounds)


def encode_pairs(
    data: DataConfig, pairs: Sequence[SentencePair], codecs: tuple[TextCodec, TextCodec]
) -> EncodedSplit:
    """Encode training pairs that are held in memory, each of them twice with `both_directions`."""
    if data.both_directions:
        pairs = [*pairs, *map(turned, pairs)]
    return encode_split(pairs, codecs, max_length=data.max_length, truncate=data.truncate)


def turned(pair: SentencePair) -> SentencePair:
    """A pair the other way round, with its links."""

    def each(links: Alignment) -> Alignment:
        return tuple(sorted(reversed_links(frozenset(links))))

    alignment = None if pair.alignment is None else each(pair.alignment)
    return SentencePair(pair.target, pair.source, alignment, each(pair.possible))


def encode_held_out(
    pairs: Sequence[SentencePair], codecs: tuple[TextCodec, TextCodec]
) -> EncodedSplit:
    """Encode all pairs of a validation or test split, as much of each as is ever translated."""
    return encode_split(pairs, codecs, max_length=LONGEST, truncate=True)


def build_codecs(
    data: DataConfig, corpus: ParallelCorpus, folder: Path
) -> tuple[TextCodec, TextCodec]:
    """Train the tokenizers on the training split, or a part of it, and keep them in `folder`.

    Raises:
        InputError: no pair is left, or the settings do not suit the text.
    """
    pairs = drop_blank(corpus.train)
    if not pairs:
        raise InputError(
            f"no training pair is left: {len(corpus.train)} are blank on a side; check the files"
        )
    sample = Sample()
    sample.extend([pair.source for pair in pairs], [pair.target for pair in pairs])
    languages = (data.source_language, data.target_language)
    return train_codecs(sample.pairs, codec_settings(data), languages, folder)
