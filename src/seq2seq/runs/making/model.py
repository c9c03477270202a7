"""The model that a configuration describes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import nn

from seq2seq.attention.registry import SCORES
from seq2seq.config import Config, plain_values
from seq2seq.decoding.model_folder import load_model_folder
from seq2seq.errors import InputError
from seq2seq.model.build import build_seq2seq
from seq2seq.model.decoders.registry import DECODERS
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.model.spec import ModelSpec
from seq2seq.option_rules import counting
from seq2seq.plain_text import first_line, one_line
from seq2seq.runs.making.text import EncodedCorpus
from seq2seq.text.codec import TextCodec
from seq2seq.text.vectors import read_vectors
from seq2seq.text.vocabulary import PADDING_ID, SPECIALS, Vocabulary

BYTES_PER_PARAMETER = 16
"""Of float32 training: the weight, its gradient, and two moments of Adam."""


ELSEWHERE = {
    "score": "attention.score",
    "attention_size": "attention.hidden_size",
    "attention_dropout": "attention.dropout",
    "attention_kind": "attention.kind",
    "attention_options": "attention.options",
    "attention_coverage": "attention.coverage",
    "attention_normaliser": "attention.normaliser",
    "attention_heads": "attention.heads",
    "attention_window": "attention.window",
    "reverse_source": "data.reverse_source",
}
OF_THE_TEXT = ("source_vocabulary_size", "target_vocabulary_size", "padding_id")
KEYS = {
    each.name: ELSEWHERE.get(each.name, f"model.{each.name}")
    for each in fields(ModelSpec)
    if each.name not in OF_THE_TEXT
}
"""The key of the configuration for each choice in a `ModelSpec`."""

DROPOUTS = tuple(key for name, key in KEYS.items() if name.endswith("dropout"))
"""Those of probabilities that only training sees: they may change between trainings."""


def build_spec(config: Config, source: Vocabulary, target: Vocabulary) -> ModelSpec:
    """Sizes of the model."""
    values = plain_values(config)
    values["attention.options"] = plain_values(config.attention.options)
    choices: dict[str, Any] = {name: values[key] for name, key in KEYS.items()}
    return ModelSpec(
        source_vocabulary_size=len(source),
        target_vocabulary_size=len(target),
        padding_id=PADDING_ID,
        **choices,
    )


def check_model(config: Config) -> None:
    """Refuse a model that cannot be built whatever the text is, before that is read.

    Raises:
        InputError: options do not go together, a name is unknown, a package that brings a part
            fails, memory is too small, or there is no model to begin from.
    """
    if config.init_from is not None:
        load_model_folder(Path(config.init_from))
    smallest = Vocabulary(SPECIALS)
    chosen = counting(plain_values(config))
    for key, registry in (("model.decoder", DECODERS), ("attention.score", SCORES)):
        if key in chosen:
            with _refusing(key):
                registry.require(chosen[key])
    with _refusing():
        _require_memory(build_spec(config, smallest, smallest))


def build_model(spec: ModelSpec) -> Seq2Seq:
    """A model with fresh parameters.

    Raises:
        InputError: options do not go together, the score is unknown, or the model is larger
            than this machine's memory.
    """
    with _refusing():
        _require_memory(spec)
        return build_seq2seq(spec)


@contextmanager
def _refusing(what: str = "the model cannot be built") -> Iterator[None]:
    try:
        yield
    except (ValueError, ImportError, TypeError, RuntimeError, MemoryError) as error:
        raise InputError(f"{what}: {first_line(error)}") from error


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
