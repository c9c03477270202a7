"""Codecs and encoded splits of a corpus."""

from dataclasses import dataclass
from pathlib import Path

from seq2seq.config import Config, DataConfig
from seq2seq.text.codec import CodecSettings, TextCodec, train_codecs
from seq2seq.text.corpus import ParallelCorpus, SentencePair, drop_blank
from seq2seq.text.store import EncodedSplit, encode_split, require_pairs


@dataclass(frozen=True, slots=True)
class EncodedCorpus:
    """A corpus ready for batching, with its codecs.

    Attributes:
        source_codec: of the source language.
        target_codec: of the target language.
        train: training split.
        validation: validation split.
        test: test pairs as text, scored at the end; may be empty.
    """

    source_codec: TextCodec
    target_codec: TextCodec
    train: EncodedSplit
    validation: EncodedSplit
    test: list[SentencePair]


def encode_corpus(
    config: Config, corpus: ParallelCorpus, codecs: tuple[TextCodec, TextCodec]
) -> EncodedCorpus:
    """Encode the splits.

    Only training and validation lose their over-long pairs: the test score counts every sentence.

    Raises:
        InputError: no pair of a split is left.
    """
    source_codec, target_codec = codecs

    def encode(name: str, pairs: list[SentencePair]) -> EncodedSplit:
        split = encode_split(
            pairs,
            source_codec=source_codec,
            target_codec=target_codec,
            max_length=config.data.max_length,
            truncate=config.data.truncate,
        )
        require_pairs(name, split)
        return split

    return EncodedCorpus(
        source_codec=source_codec,
        target_codec=target_codec,
        train=encode("training", list(corpus.train)),
        validation=encode("validation", list(corpus.validation)),
        test=drop_blank(corpus.test),
    )


def build_codecs(
    data: DataConfig, corpus: ParallelCorpus, folder: Path
) -> tuple[TextCodec, TextCodec]:
    """Train the tokenizers on the training split and keep them in `folder`."""
    pairs = drop_blank(corpus.train)
    settings = CodecSettings(
        source_tokenizer=data.tokenizer.name.value,
        target_tokenizer=(data.tokenizer.target_name or data.tokenizer.name).value,
        lowercase=data.tokenizer.lowercase,
        restore_case=data.tokenizer.restore_case,
        joint=data.tokenizer.joint,
        min_frequency=data.tokenizer.min_frequency,
        max_size=data.tokenizer.max_size,
    )
    return train_codecs(
        settings,
        sources=[pair.source for pair in pairs],
        targets=[pair.target for pair in pairs],
        languages=(data.source_language, data.target_language),
        folder=folder,
    )
