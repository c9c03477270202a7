"""Sizes and choices of a model."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, Literal

from msgspec import Meta

Size = Annotated[int, Meta(ge=1, le=10**9)]
Probability = Annotated[float, Meta(ge=0, lt=1)]
"""These bounds hold where a spec is read from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Everything that decides what a model is. Kept as JSON beside the weights.

    Defaults are what model folders hold that were written before there was a choice.

    Attributes:
        source_vocabulary_size: number of source tokens.
        target_vocabulary_size: number of target tokens V.
        padding_id: id of the padding token, on both sides.
        embedding_size: size E of both embeddings.
        encoder_hidden_size: size of one direction of the encoder.
        decoder_hidden_size: size H of the decoder.
        num_layers: layers of encoder and decoder.
        bidirectional: whether the encoder reads both ways.
        dropout: probability, see encoder and decoder; also of the places below without their own.
        readout_size: size R of the deep readout; None to score the state itself.
        tying: ``none``; ``output`` (target embedding = output layer); ``all`` (source embedding
            too; needs a joint vocabulary).
        score: registered name of the attention score.
        attention_size: hidden size A of the score; None where it has none.
        attention_dropout: probability, on the weights used for pooling.
        initial_state: of the decoder: ``encoder``, made from the encoder's final states, or
            ``zeros``, so that all that it learns of the source comes through attention.
        dropout_by_sentence: one mask for all tokens of a sentence; only training sees it.
        embedding_dropout: on embedded tokens, of both sides.
        memory_dropout: on the encoder's states.
        readout_dropout: on the decoder's features.
        query: of the attention: ``state``, or ``state_and_token``, see `BahdanauDecoder`.
        attention_kind: which tokens it looks at: all, a window (`…attentions.windows`), or one
            after the other (`…attentions.monotonic`); or another package's.
        attention_options: of another package's kind.
        attention_coverage: see `…attentions.coverage`.
        attention_normaliser: ``softmax`` or ``sparsemax``.
        attention_heads: see `…attentions.heads`.
        attention_window: tokens on either side; None without a window.
        cell: of encoder and decoder: ``gru`` or ``lstm``.
        decoder: registered name of the decoder, see `seq2seq.model.decoders.registry`.
        input_feeding: whether a `LuongDecoder` reads its last attentional vector.
        reverse_source: whether the encoder reads the source from its last token to its first.
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
    embedding_dropout: Probability | None = None
    memory_dropout: Probability | None = None
    readout_dropout: Probability | None = None
    query: Literal["state", "state_and_token"] = "state"
    attention_kind: str = "global"
    attention_options: Mapping[str, Any] = field(default_factory=dict)
    attention_coverage: bool = False
    attention_normaliser: Literal["softmax", "sparsemax"] = "softmax"
    attention_heads: Annotated[int, Meta(ge=1, le=64)] = 1
    attention_window: Size | None = None
    cell: Literal["gru", "lstm"] = "gru"
    decoder: str = "bahdanau"
    input_feeding: bool = True
    reverse_source: bool = False

    def __post_init__(self) -> None:
        if self.padding_id >= min(self.source_vocabulary_size, self.target_vocabulary_size):
            raise ValueError(f"padding_id: no vocabulary has {self.padding_id}")


BEFORE_CHOICES = {
    each.name: each.default for each in fields(ModelSpec) if each.default is not MISSING
} | {"attention_options": {}}
"""What every model was before there was a choice; what is of that time does not name it."""
