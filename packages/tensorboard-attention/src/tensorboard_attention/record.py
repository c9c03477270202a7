"""The attention record: weights, tokens and scores of a sentence in few bytes.

    b"ATTN", the version as one byte, then by zlib:
    length of the header in bytes (uint32, little-endian)
    header: JSON in UTF-8 with the fields of `_Header`
    weights: the high bytes of all of them, row by row, then their low bytes
    effects: the same of one matrix, if `effect` is no null

Weights are of one matrix, or of several of layers and heads, one after the other: `maps` is then [number of layers,
number of heads in each]. On a side without labels every token is empty.

A weight w is stored as the integer nearest to 65535 w, so that it is off by 1 / 131070 at most
(7.7e-6). An effect e is stored as 32768 and the integer nearest to 32767 e / effect. High and low bytes lie apart because
the high ones compress well. Reading checks
everything and runs nothing: a hostile record is a `RecordError`. Needs no torch.
"""

import json
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

MAGIC = b"ATTN"
VERSION = 5
PLUGIN_NAME = "attention"

MAX_TOKENS = 4096
"""Of either side."""
MAX_TOKEN_LENGTH = 1000
"""Characters of one token."""
MAX_REFERENCE_LENGTH = 100_000
"""Characters of a reference."""
MAX_LINKS = 1 << 16
"""Of a gold alignment."""
MAX_MAPS = 1024
"""Heads of all layers."""
MAX_WEIGHTS = 2048**2
"""Of all of them together."""
MAX_MARKS = 16
"""Of a record."""

_SCALE = 65535
_MIDDLE = 32768
"""Stands for the effect 0."""
_LENGTH = struct.Struct("<I")
_MAX_HEADER = 2 * MAX_TOKENS * (6 * MAX_TOKEN_LENGTH + 24)
_MAX_CONTENT = _LENGTH.size + _MAX_HEADER + 4 * MAX_WEIGHTS

Weights = npt.NDArray[np.uint16]
Links = tuple[tuple[int, int], ...]


class RecordError(ValueError):
    """Bytes that are not an attention record."""


_Text = Annotated[str, Meta(max_length=MAX_TOKEN_LENGTH)]
_Tokens = Annotated[list[_Text], Meta(min_length=1, max_length=MAX_TOKENS)]
_Count = Annotated[int, Meta(ge=1, le=MAX_MAPS)]


_Number = Annotated[float, Meta(ge=-1e300, le=1e300)]


class _Header(Struct, forbid_unknown_fields=True):
    source: _Tokens
    target: _Tokens
    score: Annotated[float, Meta(ge=-1e300, le=1e300)] | None
    bleu: Annotated[float, Meta(ge=0, le=100)] | None
    alignment: Annotated[list[tuple[int, int]], Meta(max_length=MAX_LINKS)] | None
    maps: tuple[_Count, _Count] | None
    reference: Annotated[str, Meta(max_length=MAX_REFERENCE_LENGTH)] | None
    layers: Annotated[list[_Text], Meta(max_length=MAX_MAPS)] | None
    effect: Annotated[float, Meta(gt=0, le=1e300)] | None
    marks: Annotated[list[_Text], Meta(max_length=MAX_MARKS)]
    head_effects: Annotated[list[_Number], Meta(max_length=MAX_MAPS)] | None = None


@dataclass(frozen=True, slots=True)
class AttentionRecord:
    """The attention of one sentence pair at one step, with its tokens and scores.

    Attributes:
        source: tokens of the columns.
        target: tokens of the rows.
        weights: attention weights times 65535 (target, source), of several heads
            (layers, heads, target, source).
        score: natural log-probability of the target tokens.
        bleu: of this translation, 0 to 100.
        alignment: gold links (source place, target place) in tokens; None where there is no gold.
        reference: the text that the target should have been.
        layers: a name for each layer; None where they have numbers.
        effect: `quantized_effect` (target, source); None where it was not computed.
        effect_most: maximum absolute effect.
        marks: what is said of this step, such as alarms.
        head_effects: a number for each head of each layer; None where there are none.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Weights
    score: float | None = None
    bleu: float | None = None
    alignment: Links | None = None
    reference: str | None = None
    layers: tuple[str, ...] | None = None
    effect: Weights | None = None
    effect_most: float | None = None
    marks: tuple[str, ...] = ()
    head_effects: tuple[float, ...] | None = None

    def effects(self) -> npt.NDArray[np.float64] | None:
        """By how much the log-probability of each target token falls without each source token (target, source)."""
        if self.effect is None or self.effect_most is None:
            return None
        return (self.effect.astype(np.float64) - _MIDDLE) / (_MIDDLE - 1) * self.effect_most

    @property
    def maps(self) -> tuple[int, ...]:
        """The numbers of layers and heads; empty for a single matrix."""
        return self.weights.shape[:-2]

    def mean(self) -> npt.NDArray[np.float64]:
        """Return the mean weights of all heads, in 0..1 (target, source)."""
        return self.weights.reshape(-1, *self.weights.shape[-2:]).mean(axis=0) / _SCALE


def quantized(weights: npt.ArrayLike) -> Weights:
    """Return weights in 0..1 as integers 0..65535."""
    return (np.asarray(weights, dtype=np.float64) * _SCALE).round().astype(np.uint16)


def quantized_effect(effects: npt.ArrayLike) -> tuple[Weights, float]:
    """Integers 1..65535 of effects, of which 32768 is 0, and the maximum absolute effect."""
    array = np.asarray(effects, dtype=np.float64)
    most = float(np.abs(array).max()) or 1.0
    return (array / most * (_MIDDLE - 1) + _MIDDLE).round().astype(np.uint16), most


def encode_record(record: AttentionRecord) -> bytes:
    """Return the bytes of a record."""
    header = json.dumps(
        {
            "source": record.source,
            "target": record.target,
            "score": record.score,
            "bleu": record.bleu,
            "alignment": record.alignment,
            "maps": record.maps or None,
            "reference": record.reference,
            "layers": record.layers,
            "effect": record.effect_most,
            "marks": record.marks,
            **({} if record.head_effects is None else {"head_effects": record.head_effects}),
        },
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    ).encode()
    matrices = [record.weights] if record.effect is None else [record.weights, record.effect]
    planes = [np.stack(np.divmod(each, 256)).astype(np.uint8).tobytes() for each in matrices]
    content = b"".join([_LENGTH.pack(len(header)), header, *planes])
    return MAGIC + bytes([VERSION]) + zlib.compress(content, 9)


def decode_record(content: bytes) -> AttentionRecord:
    """Read the bytes of a record.

    Raises:
        RecordError: they are not what `encode_record` writes.
    """
    unpacked = _unpacked(content)
    (length,) = _LENGTH.unpack_from(unpacked)
    header, planes = unpacked[_LENGTH.size :][:length], unpacked[_LENGTH.size + length :]
    try:
        described = msgspec.json.decode(header, type=_Header)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"the header is no header: {error!s:.200}") from error
    source, target = tuple(described.source), tuple(described.target)
    shape = checked_maps((*(described.maps or ()), len(target), len(source)))
    sizes = [math.prod(shape)]
    if described.effect is not None:
        sizes.append(math.prod(shape[-2:]))
    if len(planes) != 2 * sum(sizes):
        raise RecordError(f"{len(planes)} bytes of weights for the shape {shape}")
    layers = described.layers
    num_layers = described.maps[0] if described.maps else 0
    if layers is not None and not 0 < len(layers) == num_layers:
        raise RecordError(f"{len(layers)} names for {num_layers} layers")
    if described.head_effects is not None and len(described.head_effects) != math.prod(
        described.maps or (0,)
    ):
        raise RecordError(f"{len(described.head_effects)} effects of heads for {described.maps}")
    weights, *others = (_joined(part) for part in (planes[: 2 * sizes[0]], planes[2 * sizes[0] :]) if part)
    return AttentionRecord(
        source=source,
        target=target,
        weights=weights.reshape(shape),
        score=described.score,
        bleu=described.bleu,
        alignment=checked_links(described.alignment, len(source), len(target)),
        reference=described.reference,
        layers=None if layers is None else tuple(layers),
        effect=others[0].reshape(shape[-2:]) if others else None,
        effect_most=described.effect,
        marks=tuple(described.marks),
        head_effects=None if described.head_effects is None else tuple(described.head_effects),
    )


def _joined(planes: bytes) -> Weights:
    """The integers whose high bytes come first, then their low bytes."""
    high, low = np.frombuffer(planes, np.uint8).reshape(2, -1)
    return high.astype(np.uint16) * 256 + low


def checked_maps(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of weights.

    Raises:
        RecordError: there are more layers and heads, or weights in them, than a record can have.
    """
    if math.prod(shape[:-2]) > MAX_MAPS or math.prod(shape) > MAX_WEIGHTS:
        raise RecordError(f"weights of shape {shape} are too many for a record")
    return shape


def _unpacked(content: bytes) -> bytes:
    """Return the decompressed content, which is limited to `_MAX_CONTENT`."""
    if content[: len(MAGIC)] != MAGIC:
        raise RecordError("not an attention record")
    if content[len(MAGIC) :][:1] != bytes([VERSION]):
        raise RecordError(f"a record of another version than {VERSION}")
    stream = zlib.decompressobj()
    try:
        unpacked = stream.decompress(content[len(MAGIC) + 1 :], _MAX_CONTENT)
    except zlib.error as error:
        raise RecordError(f"damaged: {error}") from error
    if not stream.eof or stream.unused_data or len(unpacked) < _LENGTH.size:
        raise RecordError("too short or too long")
    return unpacked


def checked_links(links: Sequence[tuple[int, int]] | None, num_source: int, num_target: int) -> Links | None:
    """Return sorted links without duplicates; None if there is no gold alignment.

    Raises:
        RecordError: one is no pair of places within the sentence pair, or they are too many.
    """
    if links is None:
        return None
    if len(links) > MAX_LINKS:
        raise RecordError(f"more than {MAX_LINKS} links")
    for source, target in links:
        if not (0 <= source < num_source and 0 <= target < num_target):
            raise RecordError(f"link {source}-{target} is outside {num_source}-{num_target}")
    return tuple(sorted(set(links)))


def printable(token: str) -> str:
    """Return a token that UTF-8 can encode: half a surrogate pair becomes U+FFFD."""
    return token.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
