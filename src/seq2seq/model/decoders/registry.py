"""Decoders by name; other packages bring theirs through the entry points `seq2seq.decoders`."""

from typing import Protocol, runtime_checkable

from seq2seq.model.contracts import Decoder
from seq2seq.model.decoder import BahdanauDecoder
from seq2seq.model.decoders.conditional import ConditionalDecoder
from seq2seq.model.decoders.context import ContextDecoder
from seq2seq.model.decoders.luong import LuongDecoder
from seq2seq.model.decoders.plain import PlainDecoder
from seq2seq.model.parts import Parts
from seq2seq.registry import Registry


@runtime_checkable
class DecoderClass(Protocol):
    """What a name stands for: the class itself, or a function that makes it."""

    def __call__(self, parts: Parts, /) -> Decoder:
        """A new decoder."""


DECODERS: Registry[DecoderClass] = Registry(
    "decoder",
    {
        "bahdanau": BahdanauDecoder,
        "conditional": ConditionalDecoder,
        "luong": LuongDecoder,
        "context": ContextDecoder,
        "plain": PlainDecoder,
    },
    DecoderClass,
)
