"""Where a fast way is chosen, and nowhere else.

By exact types: a subclass may compute something else. What has no fast way goes step by step.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from jaxtyping import Int
from torch import Tensor

from seq2seq.attention.scores import AdditiveScore, BilinearScore, DotScore, ScaledDotScore
from seq2seq.model.attention import ScoredAttention
from seq2seq.model.contracts import Decoder
from seq2seq.model.decoder import BahdanauDecoder, Unrolled
from seq2seq.model.fused.attention import AdditivePass, DotPass, FusedScore
from seq2seq.model.fused.decoder import unroll_fused
from seq2seq.model.fused.loop import unroll_loop
from seq2seq.model.fused.search import FusedSearch, PlainSearch, SearchDecoder
from seq2seq.model.layers import GRULayer
from seq2seq.model.memory import Memory


def teacher_force(
    decoder: Decoder,
    target_input: Int[Tensor, "B T"],
    memory: Memory,
    target_lengths: Int[Tensor, " B"] | None = None,
) -> Unrolled:
    """`seq2seq.model.decoder.unroll`, the fast way where there is one."""
    known = _known(decoder)
    if known is None or known[0].attention.dropout.p:
        return unroll_loop(decoder, target_input, memory, target_lengths)
    return unroll_fused(*known, target_input, memory, target_lengths)


def for_search(decoder: Decoder, memory: Memory) -> SearchDecoder:
    """The decoder with the memory of some sentences, outside training."""
    known = _known(decoder)
    return PlainSearch(decoder, memory) if known is None else FusedSearch(*known, memory)


def _known(decoder: Decoder) -> tuple[Any, FusedScore] | None:
    """A Bahdanau decoder with its score, as the operations of this room know them."""
    if type(decoder) is not BahdanauDecoder or type(decoder.attention) is not ScoredAttention:
        return None
    if any(type(layer) is not GRULayer for layer in decoder.layers):
        return None
    known = _SCORES.get(type(decoder.attention.score))
    return known and (decoder, known(decoder.attention.score))


def _additive(score: AdditiveScore) -> FusedScore:
    return FusedScore(AdditivePass, (score.query_projection.weight, score.score_weight))


def _dot(score: DotScore | BilinearScore) -> FusedScore:  # noqa: ARG001
    return FusedScore(partial(DotPass, is_scaled=False))


def _scaled_dot(score: ScaledDotScore) -> FusedScore:  # noqa: ARG001
    return FusedScore(partial(DotPass, is_scaled=True))


_SCORES: dict[type, Callable[[Any], FusedScore]] = {
    AdditiveScore: _additive,
    DotScore: _dot,
    BilinearScore: _dot,  # its matrix is in the projected keys
    ScaledDotScore: _scaled_dot,
}
