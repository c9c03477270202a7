"""The model that a configuration describes."""

import os
from pathlib import Path

import torch
from torch import nn

from seq2seq.attention.registry import SCORES
from seq2seq.config import Config
from seq2seq.errors import InputError
from seq2seq.model.build import build_seq2seq
from seq2seq.model.decoders.registry import DECODERS
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.model.spec import ModelSpec
from seq2seq.plain_text import first_line, one_line
from seq2seq.runs.making.text import EncodedCorpus
from seq2seq.text.codec import TextCodec
from seq2seq.text.vectors import read_vectors
from seq2seq.text.vocabulary import PADDING_ID, Vocabulary

BYTES_PER_PARAMETER = 16
"""Of float32 training: the weight, its gradient, and two moments of Adam."""


def build_spec(config: Config, source: Vocabulary, target: Vocabulary) -> ModelSpec:
    """Sizes of the model."""
    return ModelSpec(
        source_vocabulary_size=len(source),
        target_vocabulary_size=len(target),
        padding_id=PADDING_ID,
        embedding_size=config.model.embedding_size,
        encoder_hidden_size=config.model.encoder_hidden_size,
        decoder_hidden_size=config.model.decoder_hidden_size,
        num_layers=config.model.num_layers,
        bidirectional=config.model.bidirectional,
        dropout=config.model.dropout,
        readout_size=config.model.readout_size,
        tying=config.model.tying.value,
        score=config.attention.score,
        attention_size=config.attention.hidden_size,
        attention_dropout=config.attention.dropout,
        initial_state=config.model.initial_state.value,
        embedding_dropout=config.model.embedding_dropout,
        memory_dropout=config.model.memory_dropout,
        readout_dropout=config.model.readout_dropout,
        dropout_by_sentence=config.model.dropout_by_sentence,
        query=config.model.query.value,
        attention_kind=config.attention.kind.value,
        attention_coverage=config.attention.coverage,
        attention_normaliser=config.attention.normaliser.value,
        attention_heads=config.attention.heads,
        attention_window=config.attention.window,
        cell=config.model.cell.value,
        decoder=config.model.decoder,
        input_feeding=config.model.input_feeding,
        reverse_source=config.data.reverse_source,
    )


def check_names(config: Config) -> None:
    """Refuse an unknown decoder or scoring function before the corpus is tokenised.

    Raises:
        InputError: nothing is registered by that name.
    """
    for key, registry, name in (
        ("model.decoder", DECODERS, config.model.decoder),
        ("attention.score", SCORES, config.attention.score),
    ):
        try:
            registry.require(name)
        except ValueError as error:
            raise InputError(f"{key}: {error}") from error


def build_model(spec: ModelSpec) -> Seq2Seq:
    """A model with fresh parameters.

    Raises:
        InputError: options do not go together, the score is unknown, or the model is larger
            than this machine's memory.
    """
    try:
        _require_memory(spec)
        return build_seq2seq(spec)
    except (ValueError, ImportError, TypeError, RuntimeError, MemoryError) as error:
        raise InputError(f"the model cannot be built: {first_line(error)}") from error


def load_vectors(config: Config, model: Seq2Seq, corpus: EncodedCorpus) -> None:
    """Put pretrained vectors into the embeddings, where the configuration names files.

    Raises:
        InputError: a file is wrong, or the model begins with weights of its own.
    """
    sides = {
        "source": (config.model.source_vectors, corpus.source_codec, model.encoder.embedding),
        "target": (config.model.target_vectors, corpus.target_codec, model.decoder.embedding),
    }
    for side, (path, codec, embedding) in sides.items():
        if path is None:
            continue
        if config.init_from is not None:
            raise InputError(f"model.{side}_vectors does not go with init_from: leave one out")
        filled = _filled(embedding, Path(path), codec)
        print(one_line(f"vectors     {filled} {side} tokens from {path}"))


def _filled(embedding: nn.Embedding, path: Path, codec: TextCodec) -> str:
    """Fill an embedding; returns how many of its rows, as text."""
    vectors = read_vectors(path, codec.vocabulary, embedding.embedding_dim)
    with torch.no_grad():
        embedding.weight[torch.from_numpy(vectors.ids)] = torch.from_numpy(vectors.values)
    return f"{len(vectors.ids):,} of {len(codec.vocabulary):,}"


def _require_memory(spec: ModelSpec) -> None:
    """Refuse a model that memory cannot hold in training: the system would kill the program."""
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        num_parameters = sum(each.numel() for each in build_seq2seq(spec).parameters())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    needed = num_parameters * BYTES_PER_PARAMETER
    if needed > memory:
        raise InputError(
            f"the model has {num_parameters:,} parameters and needs {needed / 2**30:,.0f} GiB, "
            f"this machine has {memory / 2**30:,.0f} GiB: lower model.embedding_size, "
            "model.encoder_hidden_size, model.decoder_hidden_size or attention.hidden_size"
        )
