"""Write attention for the Attention tab, from any model: `add_attention`. Imports no torch.

One tag holds one sentence in one kind (``forced``, ``greedy``, ``beam``, or your own, such as
``self-attention``) and rank, and one record (`tensorboard_attention.record`) for each step.
"""

import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from operator import index
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.record_writer import RecordWriter

from tensorboard_attention.record import (
    MAX_MARKS,
    MAX_REFERENCE_LENGTH,
    MAX_TOKEN_LENGTH,
    MAX_TOKENS,
    PLUGIN_NAME,
    VERSION,
    AttentionRecord,
    Weights,
    checked_links,
    checked_maps,
    encode_record,
    printable,
    quantized,
    quantized_effect,
)

Floats = npt.NDArray[np.float64]
Effect = Callable[[np.ndarray], Any]
"""Log-probabilities of the target for parts of the source, see `leave_one_out`."""

MAX_NAME_LENGTH = 200
ROUNDING = 0.005
"""How far weights of 16-bit floating point may be outside 0..1."""
_PREVIEW_LENGTH = 120
_event_files: dict[tuple[int, Path], Path] = {}
"""Of processes and log folders."""
_writing = Lock()


def add_attention(
    writer: Any,
    tag: str,
    weights: Any,
    source_tokens: Sequence[str] | None,
    target_tokens: Sequence[str] | None,
    step: int,
    *,
    heads: bool = True,
    layer_names: Sequence[str] | None = None,
    reference: str | None = None,
    score: float | None = None,
    kind: str = "forced",
    rank: int = 0,
    bleu: float | None = None,
    alignment: Iterable[Sequence[int]] | None = None,
    effect: Any | Effect | None = None,
    head_effects: Any | None = None,
    marks: Sequence[str] = (),
) -> None:
    """Write the attention of one sentence at one step for the Attention tab.

    Examples:
        >>> from tempfile import mkdtemp
        >>> folder = mkdtemp()  # for example runs/mine, which ``tensorboard --logdir runs`` shows
        >>> weights = [[0.9, 0.1], [0.2, 0.8]]  # rows: target tokens, columns: source tokens
        >>> add_attention(folder, "attention/greeting", weights, ["good", "day"], ["guten", "Tag"], step=100)

    Args:
        writer: A ``SummaryWriter`` of torch or tensorboardX, a ``TensorBoardLogger`` of Lightning, or the path
            of a log folder.
        tag: Names the sentence, the same at every step.
        weights: Attention weights in 0..1, arrays or tensors on any device: (target, source),
            (heads, target, source) or (layers, heads, target, source); the first dimension may be a list.
            Rows need not sum to 1. Of self-attention both sides are the same tokens.
        source_tokens: Labels of the columns; None: an axis without labels, as for frames of sound or patches of an
            image.
        target_tokens: Labels of the rows, or None.
        step: The training step.
        heads: What the first of three dimensions counts: heads, or if False, layers.
        layer_names: A name for each layer; None: they have numbers.
        reference: The text that the target should have been, shown beside it.
        score: Natural log-probability of the target tokens.
        kind: Where the target tokens come from, or which attention this is; any text without a slash that is no number.
        rank: Place of a hypothesis in an n-best list, 0 the best.
        bleu: Of this translation, 0 to 100.
        alignment: Gold links (source place, target place), counted from 0 in tokens.
        effect: By how much the log-probability of each target token falls without each source token (target, source);
            or a function with which `leave_one_out` computes it.
        head_effects: A number for each head (layers, heads), such as what a loss gains without it: a column of the tab's table of heads.
        marks: What is said of this step, at most 16 short texts: the tab marks it on its slider.

    Raises:
        ValueError: Weights and tokens disagree in number, a weight is no number or outside 0..1,
            something is too long for a record, or the writer is closed.
        TypeError: The writer is none of those above, or the rank no integer.
    """
    for name, value in (("tag", tag), ("kind", kind)):
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME_LENGTH:
            raise ValueError(f"{name} must be text of 1 to {MAX_NAME_LENGTH} characters")
        if printable(value) != value:
            raise ValueError(
                f"{name} must be text that UTF-8 can encode, got half a surrogate pair, {value!r}"
            )
    rank = int(index(rank))
    if "/" in kind or rank < 0:
        raise ValueError(f"kind must hold no slash and rank be at least 0, got {kind!r}, {rank}")
    if kind.isdecimal():  # it would be the rank of the sentence and kind before it
        raise ValueError(f"kind must be no number, got {kind!r}")
    record = attention_record(
        weights, source_tokens, target_tokens,
        heads=heads, layer_names=layer_names, reference=reference, score=score, bleu=bleu, alignment=alignment,
        effect=effect, head_effects=head_effects, marks=marks,
    )  # fmt: skip
    text = " ".join(record.source)
    if any(token.startswith("▁") for token in record.source):  # of SentencePiece
        text = "".join(f" {t}" if re.fullmatch(r"<.+>|\[.+\]", t) else t for t in record.source)
    text = text.replace("▁", " ").strip()
    description = {  # what the index of the tab knows of a tag without reading its records
        "version": VERSION,
        "sentence": tag,
        "kind": kind,
        "rank": rank,
        "text": text if len(text) <= _PREVIEW_LENGTH else f"{text[: _PREVIEW_LENGTH - 1]}…",
    }
    value = Summary.Value(
        tag=f"{tag}/{kind}/{rank}" if rank else f"{tag}/{kind}",
        metadata=SummaryMetadata(
            plugin_data=SummaryMetadata.PluginData(
                plugin_name=PLUGIN_NAME,
                content=json.dumps(description, ensure_ascii=False, separators=(",", ":")).encode(),
            ),
            data_class=DATA_CLASS_TENSOR,
        ),
        tensor=TensorProto(dtype=DT_STRING, string_val=[encode_record(record)]),
    )
    _write(writer, Summary(value=[value]), step)


def attention_record(
    weights: Any,
    source_tokens: Sequence[str] | None,
    target_tokens: Sequence[str] | None,
    *,
    heads: bool = True,
    layer_names: Sequence[str] | None = None,
    reference: str | None = None,
    score: float | None = None,
    bleu: float | None = None,
    alignment: Iterable[Sequence[int]] | None = None,
    effect: Any | Effect | None = None,
    head_effects: Any | None = None,
    marks: Sequence[str] = (),
) -> AttentionRecord:
    """Return what `add_attention` writes of a sentence; arguments and errors are its own."""
    links = None if alignment is None else [(_place(source), _place(target)) for source, target in alignment]
    is_list = isinstance(weights, list | tuple)
    found = np.asarray([_array(each) for each in weights] if is_list else _array(weights), dtype=np.float64)
    rows, columns = found.shape[-2:] if found.ndim > 1 else (0, 0)
    source = _tokens("source", [""] * columns if source_tokens is None else source_tokens)
    target = _tokens("target", [""] * rows if target_tokens is None else target_tokens)
    maps = _maps(found, len(target), len(source), heads=heads)
    moved = leave_one_out(effect, len(source)) if callable(effect) else effect
    stored, effect_most = (None, None) if moved is None else _effect(moved, len(target), len(source))
    if isinstance(marks, str) or len(marks) > MAX_MARKS:
        raise ValueError(f"marks must be at most {MAX_MARKS} texts")
    return AttentionRecord(
        source=source,
        target=target,
        weights=quantized(maps),
        layers=_layer_names(layer_names, maps.shape[:-2]),
        score=None if score is None else _finite("score", score),
        # sacreBLEU's sums are a rounding error above 100 for a perfect translation
        bleu=None if bleu is None else min(100.0, _finite("bleu", bleu, 0, 100 + ROUNDING)),
        alignment=checked_links(links, len(source), len(target)),
        reference=None if reference is None else _text("reference", reference, MAX_REFERENCE_LENGTH),
        effect=stored,
        effect_most=effect_most,
        marks=tuple(_text("each of marks", mark, MAX_TOKEN_LENGTH) for mark in marks),
        head_effects=None if head_effects is None else _head_effects(head_effects, maps.shape[:-2]),
    )


def leave_one_out(log_probabilities: Effect, num_source: int) -> Floats:
    """Return by how much the log-probability of each target token falls without each source token (T, S).

    >>> counts = lambda is_kept: np.stack([is_kept.sum(1), 2 * is_kept[:, 0]], axis=1)  # of two target tokens
    >>> leave_one_out(counts, 3)
    array([[1., 1., 1.],
           [2., 0., 0.]])

    Args:
        log_probabilities: Is given what is kept of the source (S + 1, S), booleans: in the first row all tokens, in row n all but
            the n-th; and returns the natural log-probability of each target token given the target before it, for each
            row (S + 1, T).
        num_source: Number of source tokens S.

    Raises:
        ValueError: It returns another shape.
    """
    is_kept = np.concatenate([np.ones((1, num_source), bool), ~np.eye(num_source, dtype=bool)])
    found = np.asarray(_array(log_probabilities(is_kept)), dtype=np.float64)
    if found.ndim != 2 or len(found) != num_source + 1:
        raise ValueError(f"effect= returned the shape {found.shape}, not ({num_source + 1}, target tokens)")
    return (found[0] - found[1:]).T


def _effect(effect: Any, num_target: int, num_source: int) -> tuple[Weights, float]:
    found = np.asarray(_array(effect), dtype=np.float64)
    if found.shape != (num_target, num_source):
        raise ValueError(
            f"effect must be numbers (target, source) = ({num_target}, {num_source}), got the shape {found.shape}"
        )
    is_finite = np.abs(found) <= 1e300
    if not is_finite.all():
        raise ValueError(f"effect must be finite numbers, at most 1e300, got {found[~is_finite][0]}")
    return quantized_effect(found)


def _head_effects(effects: Any, maps: tuple[int, ...]) -> tuple[float, ...]:
    found = np.asarray(_array(effects), dtype=np.float64)
    if found.shape != maps or not maps:
        raise ValueError(f"head_effects must be a number for each head {maps}, got the shape {found.shape}")
    return tuple(_finite("head_effects", each) for each in found.ravel().tolist())


def cross_attention(attentions: Any, sequence: int = 0, beam_indices: Any = None) -> Floats:
    """Return the weights of all heads of one sequence of a Hugging Face model, as `add_attention` takes them.

    Padding is in them: cut them as the tokens, ``[..., :len(target_tokens), :len(source_tokens)]``.

    Args:
        attentions: ``output.cross_attentions`` with ``output_attentions=True``, of ``forward``: a
            tuple over layers of (B, H, T, S); or of ``generate``, which also needs
            ``return_dict_in_generate=True``: a tuple over steps of such tuples. ``encoder_attentions``
            and ``decoder_attentions`` of ``forward`` have the same form.
        sequence: Its place in the batch; of ``generate``, in ``output.sequences``, whose first
            token is where the decoder starts, and no row of the weights.
        beam_indices: ``output.beam_indices`` of a search with several beams.

    Returns:
        (layers, heads, target, source).
    """

    def of_layers(layers: Sequence[Any], row: int) -> Floats:
        return np.stack([_array(layer[row]) for layer in layers])

    if hasattr(attentions[0], "shape"):
        return of_layers(attentions, sequence)
    rows = [sequence] * len(attentions)
    if beam_indices is not None:
        rows = [int(row) for row in beam_indices[sequence] if row >= 0]
    steps = zip(attentions, rows, strict=False)  # shorter sequences have ended before
    # without a cache a step has the rows of all before it, too
    return np.concatenate([of_layers(step, row)[..., -1:, :] for step, row in steps], axis=2)


def _write(writer: Any, summary: Summary, step: int) -> None:
    """Write a summary with a writer of any kind; a log folder has one event file for each process."""
    if isinstance(writer, str) and "://" in writer:
        raise ValueError(f"{writer} is no folder of this machine: give a SummaryWriter")
    if isinstance(writer, str | Path):
        with _writing:
            _append(Path(writer).resolve(), Event(step=step, summary=summary, wall_time=time.time()))
        return
    writer = getattr(writer, "experiment", writer)
    if callable(getattr(writer, "file_writer", None)):  # of a logger in a process that does not write
        return
    if not hasattr(writer, "file_writer"):
        raise TypeError(
            f"writer must be a SummaryWriter, a TensorBoardLogger or the path of a log folder, got {writer!r}"
        )
    if writer.file_writer is None:
        raise ValueError("the writer is closed: write attention before close()")
    library = type(writer).__module__.partition(".")[0]
    if library == "tensorboardX":  # it has message classes of its own
        own = import_module("tensorboardX.proto.summary_pb2").Summary
        summary = own.FromString(summary.SerializeToString())
    writer.file_writer.add_summary(summary, step)


def _append(folder: Path, event: Event) -> None:
    """Write an event to the end of this process's event file of a log folder, which is open only meanwhile."""
    file = _event_files.get((os.getpid(), folder))
    events = [event]
    if file is None or not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        file = folder / f"events.out.tfevents.{now:.6f}.{socket.gethostname()}.{os.getpid()}.attention"
        _event_files[os.getpid(), folder] = file
        events.insert(0, Event(wall_time=now, file_version="brain.Event:2"))
    with file.open("ab") as stream:
        for each in events:
            RecordWriter(stream).write(each.SerializeToString())


def _maps(found: Floats, num_target: int, num_source: int, *, heads: bool) -> Floats:
    """Return weights in 0..1: (target, source), or (layers, heads, target, source)."""
    if found.shape[-2:] != (num_target, num_source) or not 2 <= found.ndim <= 4 or not found.size:
        raise ValueError(
            f"weights of shape {found.shape} do not fit {num_target} target tokens by {num_source} source tokens: "
            "give (target, source), (heads, target, source) or (layers, heads, target, source)"
        )
    if found.ndim == 4 and not heads:
        raise ValueError(f"heads=False is for weights of three dimensions, got the shape {found.shape}")
    if found.ndim == 3:
        found = found[None] if heads else found[:, None]
    checked_maps(found.shape)
    if not ((found >= -ROUNDING) & (found <= 1 + ROUNDING)).all():
        raise ValueError(
            f"weights of shape {found.shape} must lie in 0..1, got {found.min()} to {found.max()}"
        )
    return found.clip(0, 1)


def _array(weights: Any) -> Any:
    """Return a tensor as an array, of any type of numbers and device."""
    return weights.detach().cpu().double().numpy() if hasattr(weights, "detach") else weights


def _layer_names(names: Sequence[str] | None, maps: tuple[int, ...]) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or not maps or len(names) != maps[0]:
        raise ValueError(f"layer_names={names!r} must be a name for each of {maps[0] if maps else 0} layers")
    return tuple(_text("each of layer_names", name, MAX_TOKEN_LENGTH) for name in names)


def _tokens(side: str, tokens: Sequence[str]) -> tuple[str, ...]:
    if isinstance(tokens, str) or not 1 <= len(tokens) <= MAX_TOKENS:
        raise ValueError(f"{side}_tokens must be 1 to {MAX_TOKENS} tokens")
    return tuple(_text(f"each of {side}_tokens", token, MAX_TOKEN_LENGTH) for token in tokens)


def _place(value: Any) -> int:
    """Return a place in a link, which may be a whole number of any type."""
    if int(value) != float(value):
        raise ValueError(f"alignment must be pairs of whole numbers, got {value}")
    return int(value)


def _text(name: str, text: str, most: int) -> str:
    """Return what a record holds of a text."""
    if not isinstance(text, str):
        raise ValueError(f"{name} must be text, got {text!r}")
    return _shortened(printable(text), most)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _finite(name: str, value: float, low: float = -1e300, high: float = 1e300) -> float:
    if not low <= float(value) <= high:
        raise ValueError(f"{name}={value} must be a number from {low:g} to {high:g}")
    return float(value)
