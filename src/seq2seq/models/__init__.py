"""Encoders, decoders, and the model that joins them; a decoder is a file."""

from seq2seq.models.bahdanau import BahdanauDecoder
from seq2seq.models.conditional import ConditionalDecoder
from seq2seq.models.context import ContextDecoder
from seq2seq.models.decoder import Decoder
from seq2seq.models.encoders import Encoder, GRUEncoder, LSTMEncoder, TransformerEncoder
from seq2seq.models.luong import LuongDecoder
from seq2seq.models.plain import PlainDecoder
from seq2seq.models.seq2seq import Seq2Seq, build_model

__all__ = [
    "BahdanauDecoder", "ConditionalDecoder", "ContextDecoder", "Decoder", "Encoder", "GRUEncoder",
    "LSTMEncoder", "LuongDecoder", "PlainDecoder", "Seq2Seq", "TransformerEncoder", "build_model",
]  # fmt: skip
