"""Attentions from their description."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from seq2seq.attention.normalisers import NORMALISERS
from seq2seq.attention.registry import build_score
from seq2seq.attention.scores import AdditiveScore, Score
from seq2seq.model.attention import ScoredAttention
from seq2seq.model.attentions.composed import ComposedAttention, GlobalWeighing
from seq2seq.model.attentions.coverage import CoverageScore
from seq2seq.model.attentions.heads import HeadsAttention
from seq2seq.model.attentions.monotonic import MonotonicWeighing
from seq2seq.model.attentions.registry import KINDS, AttentionParts, make_attention
from seq2seq.model.attentions.windows import WindowWeighing
from seq2seq.model.contracts import MemoryAttention

Attention = ScoredAttention | ComposedAttention | HeadsAttention | MemoryAttention


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionForm:
    """What decides an attention, see `seq2seq.model.spec.ModelSpec`."""

    score: str
    hidden_size: int | None
    dropout: float
    kind: str
    options: Mapping[str, Any]
    coverage: bool
    normaliser: str
    heads: int
    window: int | None


def build_attention(
    form: AttentionForm, *, query_size: int, memory_size: int
) -> tuple[Attention, int | None]:
    """The attention, and the size the keys must be projected to (None for no projection).

    Raises:
        TypeError: coverage is asked of a score that is not additive, or another package's part
            does not keep its contract.
        ValueError: a name is unknown, or there are more heads than a head has numbers.
        ImportError: another package fails.
    """
    if form.heads == 1:
        return _attention(form, query_size, memory_size)
    if form.heads > min(query_size, memory_size):
        raise ValueError(
            f"attention.heads={form.heads} share {query_size} numbers of the query and "
            f"{memory_size} of the memory: lower it"
        )
    return HeadsAttention(
        lambda size: _attention(form, size, size)[0], form.heads, query_size, memory_size
    ), None


def _attention(form: AttentionForm, query_size: int, key_size: int) -> tuple[Attention, int | None]:
    score = build_score(
        form.score, query_size=query_size, key_size=key_size, hidden_size=form.hidden_size
    )
    projected = query_size if score.needs_equal_sizes and key_size != query_size else None
    if (form.kind, form.coverage, form.normaliser) == ("global", False, "softmax"):
        return ScoredAttention(score, form.dropout), projected
    scored = _with_coverage(score, key_size) if form.coverage else score
    if form.kind not in KINDS:
        return _foreign(form, scored, query_size, projected or key_size), projected
    return ComposedAttention(scored, _weighing(form, query_size), form.dropout), projected


def _foreign(
    form: AttentionForm, score: Score | CoverageScore, query_size: int, key_size: int
) -> MemoryAttention:
    parts = AttentionParts(
        score=score,
        normaliser=NORMALISERS[form.normaliser],
        dropout=form.dropout,
        query_size=query_size,
        key_size=key_size,
    )
    attention = make_attention(form.kind, parts, form.options)
    if not (isinstance(attention, nn.Module) and isinstance(attention, MemoryAttention)):
        made = f"{attention!r:.80}"
        raise TypeError(f"attention {form.kind!r} makes no module with memory: {made}")
    return attention


def _with_coverage(score: Score, key_size: int) -> CoverageScore:
    if not isinstance(score, AdditiveScore):
        raise TypeError("attention.coverage=true needs attention.score=additive")
    return CoverageScore(score, key_size)


def _weighing(form: AttentionForm, query_size: int) -> nn.Module:
    normaliser = NORMALISERS[form.normaliser]
    if form.kind == "global":
        return GlobalWeighing(normaliser)
    if form.kind == "monotonic":
        return MonotonicWeighing()
    if form.window is None:
        raise ValueError(f"attention.kind={form.kind} needs attention.window, for example 5")
    return WindowWeighing(normaliser, form.window, query_size if form.kind == "local_p" else None)
