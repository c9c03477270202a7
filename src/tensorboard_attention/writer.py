"""Write attention for the Attention tab, from any model: `add_attention`. Imports no torch.

One tag holds one sentence in one kind (``forced``, ``greedy``, ``beam``, or your own, such as
``layer 2 head 5``) and rank, and one record (`tensorboard_attention.record`) for each step.
"""

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import (
    DATA_CLASS_TENSOR,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tensorboard_attention.colours import ROUNDING, Floats, checked_weights
from tensorboard_attention.record import (
    MAX_TOKEN_LENGTH,
    MAX_TOKENS,
    PLUGIN_NAME,
    AttentionRecord,
    checked_links,
    checked_maps,
    encode_record,
    printable,
    quantised,
)

MAX_NAME_LENGTH = 200
_PREVIEW_LENGTH = 120


def add_attention(
    writer: Any,
    tag: str,
    weights: Any,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    step: int,
    *,
    kind: str = "forced",
    rank: int = 0,
    score: float | None = None,
    bleu: float | None = None,
    alignment: Iterable[Sequence[int]] | None = None,
) -> None:
    """Write the attention of one sentence at one step for the Attention tab.

    Args:
        writer: a ``SummaryWriter`` of torch or tensorboardX, a `TensorBoardLogger` of Lightning, or the path
            of a log folder.
        tag: names the sentence, the same at every step.
        weights: attention weights in 0..1, arrays or tensors on any device: (target, source), or of
            several heads (heads, target, source), or of layers of these, a list or one more
            dimension. Rows need not sum to 1.
        source_tokens: labels of the columns.
        target_tokens: labels of the rows.
        step: the training step.
        kind: where the target tokens come from, or which weights of several these are.
        rank: place of a hypothesis in an n-best list, 0 the best.
        score: natural log-probability of the target tokens.
        bleu: of this translation, 0 to 100.
        alignment: gold links (source place, target place), counted from 0 in tokens.

    Raises:
        ValueError: weights and tokens disagree in number, a weight is no number or outside 0..1,
            or something is too long for a record.
    """
    name = _tag(tag, kind, rank)
    record = attention_record(
        weights, source_tokens, target_tokens, score=score, bleu=bleu, alignment=alignment
    )
    metadata = SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(
            plugin_name=PLUGIN_NAME, content=_description(tag, kind, rank, record)
        ),
        data_class=DATA_CLASS_TENSOR,
    )
    tensor = TensorProto(dtype=DT_STRING, string_val=[encode_record(record)])
    summary = Summary(value=[Summary.Value(tag=name, metadata=metadata, tensor=tensor)])
    if isinstance(writer, str | Path):
        event = Event(step=step, summary=summary, wall_time=time.time())
        events = EventFileWriter(str(writer))
        events.add_event(event)
        events.close()
        return
    writer = getattr(writer, "experiment", writer)
    writer.file_writer.add_summary(summary, step)


def attention_record(
    weights: Any,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    *,
    score: float | None = None,
    bleu: float | None = None,
    alignment: Iterable[Sequence[int]] | None = None,
) -> AttentionRecord:
    """What `add_attention` writes of a sentence; arguments and errors are its own."""
    links = None if alignment is None else [list(map(int, link)) for link in alignment]
    return AttentionRecord(
        source=_tokens("source", source_tokens),
        target=_tokens("target", target_tokens),
        weights=quantised(_maps(weights, len(target_tokens), len(source_tokens))),
        score=None if score is None else _finite("score", score),
        # sacreBLEU's sums are a rounding error above 100 for a perfect translation
        bleu=None if bleu is None else min(100.0, _finite("bleu", bleu, 0, 100 + ROUNDING)),
        alignment=checked_links(links, len(source_tokens), len(target_tokens)),
    )


def _maps(weights: Any, num_target: int, num_source: int) -> Floats:
    """Weights in 0..1: (target, source), or (layers, heads, target, source)."""
    is_list = isinstance(weights, list | tuple)
    found = np.asarray([array_of(each) for each in weights] if is_list else array_of(weights))
    if found.ndim not in (3, 4) or not found.size:
        return checked_weights(found, num_target, num_source)
    shape = checked_maps((*((1,) * (4 - found.ndim)), *found.shape))
    maps = found.reshape(-1, *shape[2:])
    return np.stack([checked_weights(each, num_target, num_source) for each in maps]).reshape(shape)


def array_of(weights: Any) -> Any:
    """A tensor as an array; bfloat16 and other devices are none."""
    return weights.detach().cpu().double().numpy() if hasattr(weights, "detach") else weights


def _tag(tag: str, kind: str, rank: int) -> str:
    """The full tag of a sentence in one kind."""
    for name, value in (("tag", tag), ("kind", kind)):
        if not value.strip() or len(value) > MAX_NAME_LENGTH:
            raise ValueError(f"{name} must be text of 1 to {MAX_NAME_LENGTH} characters")
    if "/" in kind or rank < 0:
        raise ValueError(f"kind must hold no slash and rank be at least 0, got {kind!r}, {rank}")
    return f"{tag}/{kind}/{rank}" if rank else f"{tag}/{kind}"


def _tokens(side: str, tokens: Sequence[str]) -> tuple[str, ...]:
    if isinstance(tokens, str) or not 1 <= len(tokens) <= MAX_TOKENS:
        raise ValueError(f"{side}_tokens must be 1 to {MAX_TOKENS} tokens")
    return tuple(_shortened(printable(token)) for token in tokens)


def _shortened(token: str) -> str:
    if len(token) <= MAX_TOKEN_LENGTH:
        return token
    return token[: MAX_TOKEN_LENGTH - 1] + "…"


def _finite(name: str, value: float, low: float = -1e300, high: float = 1e300) -> float:
    if not low <= float(value) <= high:
        raise ValueError(f"{name}={value} must be a number from {low:g} to {high:g}")
    return float(value)


def _description(tag: str, kind: str, rank: int, record: AttentionRecord) -> bytes:
    """What the index of the tab knows of a tag without reading its records."""
    text = " ".join(record.source)
    preview = text if len(text) <= _PREVIEW_LENGTH else f"{text[: _PREVIEW_LENGTH - 1]}…"
    names = {"sentence": printable(tag), "kind": printable(kind)}
    description = {"version": record.version, **names, "rank": rank, "text": preview}
    return json.dumps(description, ensure_ascii=False, separators=(",", ":")).encode()
