"""Encoders, decoders (one file each), and the model that consists of both."""

from seq2seq.models.bahdanau import BahdanauDecoder
from seq2seq.models.build import build_model
from seq2seq.models.conditional import ConditionalDecoder
from seq2seq.models.context import ContextDecoder
from seq2seq.models.decoder import Decoder
from seq2seq.models.encoder import Encoder
from seq2seq.models.luong import LuongDecoder
from seq2seq.models.plain import PlainDecoder
from seq2seq.models.seq2seq import GRUEncoder, LSTMEncoder, Seq2Seq
from seq2seq.models.transformer import TransformerEncoder
from seq2seq.models.transformer_decoder import TransformerDecoder

__all__ = [
    "BahdanauDecoder", "ConditionalDecoder", "ContextDecoder", "Decoder", "Encoder", "GRUEncoder",
    "LSTMEncoder", "LuongDecoder", "PlainDecoder", "Seq2Seq", "TransformerDecoder", "TransformerEncoder",
    "build_model",
]  # fmt: skip
