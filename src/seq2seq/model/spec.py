"""Sizes of a model, and the model of those sizes."""

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta
from torch import nn

from seq2seq.model.attentions.build import Attention, AttentionForm, Kind, build_attention
from seq2seq.model.decoder import BahdanauDecoder
from seq2seq.model.encoder import GRUEncoder
from seq2seq.model.layers import DeepReadout, Dropout, StateReadout
from seq2seq.model.seq2seq import Seq2Seq

Size = Annotated[int, Meta(ge=1, le=10**9)]
Probability = Annotated[float, Meta(ge=0, lt=1)]
"""These bounds hold where a spec is read from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Everything that decides the shapes of a model. Kept as JSON beside the weights.

    Attributes:
        source_vocabulary_size: number of source tokens.
        target_vocabulary_size: number of target tokens V.
        padding_id: id of the padding token, on both sides.
        embedding_size: size E of both embeddings.
        encoder_hidden_size: size of one direction of the encoder.
        decoder_hidden_size: size H of the decoder.
        num_layers: GRU layers of encoder and decoder.
        bidirectional: whether the encoder reads both ways.
        dropout: probability, see encoder and decoder.
        readout_size: size R of the deep readout; None to score the state itself.
        tying: ``none``; ``output`` (target embedding = output layer); ``all`` (source embedding
            too; needs a joint vocabulary).
        score: registered name of the attention score.
        attention_size: hidden size A of the score; None where it has none.
        attention_dropout: probability, on the weights used for pooling.
        initial_state: of the decoder: ``encoder``, made from the encoder's final states, or
            ``zeros``, so that all that it learns of the source comes through attention. The default
            is that of model folders from before there was a choice.
        dropout_by_sentence: one mask for all tokens of a sentence; only training sees it.
        query: of the attention: ``state``, or ``state_and_token``, see `BahdanauDecoder`.
        attention_kind: which tokens it looks at: all, a window (`…attentions.windows`), or one
            after the other (`…attentions.monotonic`).
        attention_coverage: see `…attentions.coverage`.
        attention_normaliser: ``softmax`` or ``sparsemax``.
        attention_heads: see `…attentions.heads`.
        attention_window: tokens on either side; None without a window.
    """

    source_vocabulary_size: Size
    target_vocabulary_size: Size
    padding_id: Annotated[int, Meta(ge=0)]
    embedding_size: Size
    encoder_hidden_size: Size
    decoder_hidden_size: Size
    num_layers: Annotated[int, Meta(ge=1, le=64)]
    bidirectional: bool
    dropout: Probability
    readout_size: Size | None
    tying: Literal["none", "output", "all"]
    score: str
    attention_size: Size | None
    attention_dropout: Probability
    initial_state: Literal["encoder", "zeros"] = "encoder"
    dropout_by_sentence: bool = False
    query: str = "state"
    attention_kind: Kind = "global"
    attention_coverage: bool = False
    attention_normaliser: Literal["softmax", "sparsemax"] = "softmax"
    attention_heads: Annotated[int, Meta(ge=1, le=64)] = 1
    attention_window: Size | None = None

    def __post_init__(self) -> None:
        if self.padding_id >= min(self.source_vocabulary_size, self.target_vocabulary_size):
            raise ValueError(f"padding_id: no vocabulary has {self.padding_id}")


def build_seq2seq(spec: ModelSpec) -> Seq2Seq:
    """A model with fresh parameters.

    Raises:
        ValueError: the spec's values do not go together.
    """
    target_embedding = _embedding(spec.target_vocabulary_size, spec)
    source_embedding = _source_embedding(target_embedding, spec)
    encoder = GRUEncoder(
        source_embedding,
        hidden_size=spec.encoder_hidden_size,
        num_layers=spec.num_layers,
        bidirectional=spec.bidirectional,
        dropout=Dropout(spec.dropout, by_sentence=spec.dropout_by_sentence),
    )
    return Seq2Seq(encoder, _decoder(target_embedding, encoder.memory_size, spec))


def _embedding(vocabulary_size: int, spec: ModelSpec) -> nn.Embedding:
    embedding = nn.Embedding(vocabulary_size, spec.embedding_size, padding_idx=spec.padding_id)
    if spec.tying != "none":  # as the output layer, unit variance would give logits of size sqrt(E)
        nn.init.normal_(embedding.weight, std=spec.embedding_size**-0.5)
        embedding.weight.data[spec.padding_id].zero_()
    return embedding


def _source_embedding(target_embedding: nn.Embedding, spec: ModelSpec) -> nn.Embedding:
    if spec.tying != "all":
        return _embedding(spec.source_vocabulary_size, spec)
    if spec.source_vocabulary_size != spec.target_vocabulary_size:
        raise ValueError(
            "model.tying=all needs one vocabulary for both languages: set data.tokenizer.joint=true"
        )
    return target_embedding


def _decoder(embedding: nn.Embedding, memory_size: int, spec: ModelSpec) -> BahdanauDecoder:
    hidden_size = spec.decoder_hidden_size
    readout = (
        StateReadout(hidden_size)
        if spec.readout_size is None
        else DeepReadout(hidden_size, memory_size, spec.embedding_size, spec.readout_size)
    )
    attention, key_size = _attention(memory_size, spec)
    return BahdanauDecoder(
        embedding,
        attention=attention,
        memory_size=memory_size,
        key_size=key_size,
        query_has_token=spec.query == "state_and_token",
        hidden_size=hidden_size,
        num_layers=spec.num_layers,
        initial_state=spec.initial_state,
        dropout=Dropout(spec.dropout, by_sentence=spec.dropout_by_sentence),
        readout=readout,
        output=_output(embedding, readout.feature_size, spec),
    )


def _attention(memory_size: int, spec: ModelSpec) -> tuple[Attention, int | None]:
    """The attention, and the size the keys must be projected to (None for no projection)."""
    has_token = spec.query == "state_and_token"
    form = AttentionForm(
        score=spec.score,
        hidden_size=spec.attention_size,
        dropout=spec.attention_dropout,
        kind=spec.attention_kind,
        coverage=spec.attention_coverage,
        normaliser=spec.attention_normaliser,
        heads=spec.attention_heads,
        window=spec.attention_window,
    )
    query_size = spec.decoder_hidden_size + has_token * spec.embedding_size
    return build_attention(form, query_size=query_size, memory_size=memory_size)


def _output(embedding: nn.Embedding, feature_size: int, spec: ModelSpec) -> nn.Linear:
    output = nn.Linear(feature_size, spec.target_vocabulary_size)
    if spec.tying == "none":
        return output
    if feature_size != spec.embedding_size:
        raise ValueError(
            f"model.tying={spec.tying} needs features of the embedding's size, not {feature_size}: "
            f"set model.readout_size={spec.embedding_size}"
        )
    output.weight = embedding.weight
    return output
