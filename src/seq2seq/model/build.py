"""The model of a `ModelSpec`."""

from torch import nn

from seq2seq.model.contracts import Decoder, Encoder
from seq2seq.model.decoders.registry import DECODERS
from seq2seq.model.encoder import GRUEncoder, LSTMEncoder
from seq2seq.model.parts import Parts, dropouts
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.model.spec import ModelSpec

_ENCODERS: dict[str, type[GRUEncoder] | type[LSTMEncoder]] = {
    "gru": GRUEncoder,
    "lstm": LSTMEncoder,
}


def build_seq2seq(spec: ModelSpec) -> Seq2Seq:
    """A model with fresh parameters.

    Raises:
        ValueError: the spec's values do not go together, or a name in it is unknown.
    """
    target_embedding = _embedding(spec.target_vocabulary_size, spec)
    encoder = _encoder(_source_embedding(target_embedding, spec), spec)
    parts = Parts(spec, target_embedding, encoder.memory_size)
    decoder = DECODERS.made(spec.decoder, parts)
    if not isinstance(decoder, Decoder):
        raise TypeError(f"decoder {spec.decoder!r} makes no Decoder: {decoder!r:.80}")
    return Seq2Seq(encoder, decoder, reverse_source=spec.reverse_source)


def _encoder(embedding: nn.Embedding, spec: ModelSpec) -> Encoder:
    return _ENCODERS[spec.cell](
        embedding,
        hidden_size=spec.encoder_hidden_size,
        num_layers=spec.num_layers,
        bidirectional=spec.bidirectional,
        dropout=dropouts(spec, spec.memory_dropout),
    )


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
