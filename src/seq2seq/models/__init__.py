"""Encoders, decoders (one file each), and the model that consists of both. Each is imported when it is used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

__all__ = [
    "BahdanauDecoder", "ConditionalDecoder", "ContextDecoder", "Decoder", "Encoder", "GRUEncoder",
    "LSTMEncoder", "LuongDecoder", "PlainDecoder", "Seq2Seq", "TransformerEncoder", "build_model",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = {
        "BahdanauDecoder": "bahdanau", "ConditionalDecoder": "conditional", "ContextDecoder": "context", "Decoder": "decoder",
        "Encoder": "encoder", "LuongDecoder": "luong", "PlainDecoder": "plain", "TransformerEncoder": "transformer",
        "build_model": "build",
    }  # fmt: skip
    return getattr(import_module(f"{__name__}.{modules.get(name, 'seq2seq')}"), name)
