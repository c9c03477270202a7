"""Attentions of other packages, by the entry points `seq2seq.attentions`. Imports no torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seq2seq.registry import Registry, foreign
from seq2seq.storage.typed_json import converted

if TYPE_CHECKING:
    from seq2seq.attention.masking import Normaliser
    from seq2seq.attention.scores import Score
    from seq2seq.model.attentions.coverage import CoverageScore
    from seq2seq.model.contracts import MemoryAttention

KINDS = ("global", "local_m", "local_p", "monotonic")
"""Ours, of which `seq2seq.model.attentions.build` makes attentions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionParts:
    """What an attention can be made of. It need not use any of it.

    Attributes:
        score: of queries and keys, see `seq2seq.attention.contract.Score`, or that of coverage.
        normaliser: makes weights of scores.
        dropout: probability, on the weights used for pooling.
        query_size: size of a query.
        key_size: size of a key; scores that need equal sizes are given projected ones.
    """

    score: "Score | CoverageScore"
    normaliser: "Normaliser"
    dropout: float
    query_size: int
    key_size: int


@dataclass(frozen=True, slots=True)
class AttentionKind:
    """What the name of an attention stands for.

    Attributes:
        options: its keys under `attention.options`, a dataclass made of
            `seq2seq.config.AttentionOptions`, which will do where it has none.
        make: an attention of these parts and options, with fresh parameters.
    """

    options: type
    make: "Callable[[AttentionParts, Any], MemoryAttention]"


ATTENTIONS: Registry[AttentionKind] = Registry("attention", {}, AttentionKind, reserved=KINDS)


def make_attention(name: str, parts: AttentionParts, options: Mapping[str, Any]) -> Any:
    """The attention of another package.

    Raises:
        ValueError: the name is unknown, or the options are not those of this attention.
        ImportError: the package that brings it cannot be imported, or fails.
        TypeError: it brings something else.
    """
    kind = ATTENTIONS[name]
    with foreign(f"attention {name!r} fails"):
        return kind.make(parts, converted(dict(options), kind.options, "its options"))
