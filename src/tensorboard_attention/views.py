"""What the viewer asks for: an index of all sentences, and the steps of one of them.

Both are JSON values, made from any of TensorBoard's data providers. A record or a tag that cannot
be read is left out and named under ``problems``; it never ends in an exception.
"""

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from tensorboard.context import RequestContext
from tensorboard.data.provider import DataProvider, RunTagFilter, TensorDatum

from tensorboard_attention.colours import difference_colours, weight_colours
from tensorboard_attention.record import (
    PLUGIN_NAME,
    VERSIONS,
    AttentionRecord,
    RecordError,
    decode_record,
)

ALL_STEPS = 1_000_000
"""More than a run has: providers want a bound."""

ANSWER_BYTES = 1 << 18
"""Of the frames of an answer, about: a hundred steps of 30 x 30 tokens, some hundred of an ordinary sentence."""
FRAME_BYTES = 120
"""Of a frame without its weights and tokens."""

MAX_PROBLEMS = 20
KINDS = ("forced", "greedy", "beam")
"""In the order in which they are offered; others follow."""

Json = dict[str, Any]


Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class _Described(Struct):
    """What a tag says of itself."""

    sentence: str
    kind: str
    rank: Whole
    text: str
    version: Whole


def index(provider: DataProvider, context: RequestContext, experiment_id: str = "") -> Json:
    """All runs with their sentences, kinds and ranks, and the colours to draw with."""
    series = provider.list_tensors(context, experiment_id=experiment_id, plugin_name=PLUGIN_NAME)
    runs, problems = [], []
    for run in sorted(series, key=natural):
        tags = []
        for tag, series_of_tag in series[run].items():
            try:
                tags.append({"tag": tag, **_description(series_of_tag.plugin_content)})
            except RecordError as error:
                problems.append(f"{run}, {tag}: {error}")
            else:
                tags[-1]["max_step"] = series_of_tag.max_step
                time = series_of_tag.max_wall_time
                tags[-1]["wall_time"] = time if math.isfinite(time) else None
        if tags:
            runs.append({"run": run, "tags": sorted(tags, key=_order)})
    return {
        "version": VERSIONS[-1],
        "runs": runs,
        "problems": problems[:MAX_PROBLEMS],
        **colours(),
    }


def colours() -> Json:
    """The scales of weights and of differences, as `index` holds them."""
    return {
        "colours": [_hexadecimal(colour) for colour in weight_colours().tolist()],
        "difference": [_hexadecimal(colour) for colour in difference_colours().tolist()],
    }


class Records:
    """Reads the records of tags from a data provider, and keeps those of the last few tags.

    A provider converts all records of a tag at each request, which takes a quarter of a second for 10,000.

    Args:
        provider: Of TensorBoard.
    """

    MOST_TAGS = 4

    def __init__(self, provider: DataProvider) -> None:
        self._provider = provider
        self._lock = Lock()
        self._kept: dict[tuple[str, str, str], tuple[Any, dict[int, bytes]]] = {}

    def of(
        self, context: RequestContext, run: str, tag: str, experiment_id: str = ""
    ) -> dict[int, bytes] | None:
        """Return the records of a tag by step, see `current`; None where there is no such tag.

        Raises:
            ValueError, TypeError or MemoryError: TensorBoard cannot read them.
        """
        wanted = {
            "experiment_id": experiment_id,
            "plugin_name": PLUGIN_NAME,
            "run_tag_filter": RunTagFilter(runs=[run], tags=[tag]),
        }
        series = self._provider.list_tensors(context, **wanted).get(run, {}).get(tag)
        if series is None:
            return None
        key, state = (experiment_id, run, tag), (series.max_step, series.max_wall_time)
        with self._lock:
            known, records = self._kept.pop(key, (None, {}))
            if known != state:
                data = self._provider.read_tensors(context, downsample=ALL_STEPS, **wanted)
                found = data.get(run, {}).get(tag, ())
                records = current((datum.step, _content(datum)) for datum in found)
            self._kept[key] = state, records
            while len(self._kept) > self.MOST_TAGS:
                del self._kept[next(iter(self._kept))]
        return records


def view(
    records: Records,
    context: RequestContext,
    run: str,
    tag: str,
    *,
    step: int | None = None,
    experiment_id: str = "",
) -> Json | None:
    """Return the steps of one tag of one run, and the frames nearest to `step`, by default the last.

    None where there is no such tag.
    """
    try:
        found = records.of(context, run, tag, experiment_id)
    except (ValueError, TypeError, MemoryError) as error:
        problem = f"TensorBoard cannot read it ({error})"
        return frames_of(run, tag, {}, [], 0) | {"problems": [problem]}
    if found is None:
        return None
    wanted = max(found, default=0) if step is None else step
    nearest = sorted(found, key=lambda each: (abs(each - wanted), each))
    return frames_of(run, tag, found, nearest, ANSWER_BYTES)


def current(records: Iterable[tuple[int, bytes]]) -> dict[int, bytes]:
    """Return records by step, without those that a resumed run has overwritten.

    A run that continues from a checkpoint writes steps again. As TensorBoard does for scalars and images, a record
    with a step that is not above those before it removes those from that step on.

    Args:
        records: Steps and contents in the order in which they were written.
    """
    kept: dict[int, bytes] = {}
    for step, content in records:
        while kept and next(reversed(kept)) >= step:
            kept.popitem()
        kept[step] = content
    return kept


def frames_of(
    run: str, tag: str, records: Mapping[int, bytes], order: Iterable[int], most_bytes: int
) -> Json:
    """The steps of a tag, and the frames of some.

    Args:
        run: its run.
        tag: its name.
        records: by step.
        order: steps whose frames are taken while they fit, the first in any case.
        most_bytes: of all frames.
    """
    steps, problems = set(records), list[str]()
    chosen: dict[int, AttentionRecord] = {}
    for step in order:
        try:
            record = decode_record(records[step])
        except RecordError as error:
            steps.remove(step)
            problems.append(f"step {step}: {error}")
            if len(problems) == MAX_PROBLEMS:
                break
            continue
        most_bytes -= _num_bytes(record)
        if most_bytes < 0 and chosen:
            break
        chosen[step] = record
    return {
        "run": run,
        "tag": tag,
        "steps": sorted(steps),
        **_frames(chosen),
        "problems": problems,
    }


def _num_bytes(record: AttentionRecord) -> int:
    """What a record takes as JSON where it shares nothing with others."""
    text = json.dumps([record.source, record.target, record.alignment, record.reference])
    return len(text) + record.weights.nbytes * 4 // 3 + FRAME_BYTES


def natural(text: str) -> list[tuple[int, int, str]]:
    """Sorts numbers inside of text by their value."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+|[0-9]+", text)
    return [(0, int(p), "") if p.isdecimal() and len(p) < 19 else (1, 0, p) for p in parts]


def _order(described: Json) -> tuple[Any, ...]:
    kind = described["kind"]
    place = KINDS.index(kind) if kind in KINDS else len(KINDS)
    return natural(described["sentence"]), place, natural(kind), described["rank"]


def _description(content: bytes) -> Json:
    """Sentence, kind, rank and text of a tag."""
    try:
        found = msgspec.json.decode(content, type=_Described)
    except (ValueError, msgspec.MsgspecError) as error:
        raise RecordError(f"not written by add_attention: {error}") from error
    if found.version not in VERSIONS:
        raise RecordError(f"not of version {' or '.join(map(str, VERSIONS))}")
    return {"sentence": found.sentence, "kind": found.kind, "rank": found.rank, "text": found.text}


def _content(datum: TensorDatum) -> bytes:
    """The one byte string that a record's tensor holds; nothing for another tensor."""
    value = datum.numpy.item() if datum.numpy.size == 1 else None
    return value if isinstance(value, bytes) else b""


def _frames(records: Mapping[int, AttentionRecord]) -> Json:
    """Frames in the order of steps; what most of them share, such as tokens, is there once."""
    tables: tuple[dict[Any, int], ...] = ({}, {}, {}, {})  # distinct values and their places
    sources, targets, alignments, references = tables
    frames = [
        {
            "step": step,
            "source": sources.setdefault(record.source, len(sources)),
            "target": targets.setdefault(record.target, len(targets)),
            "alignment": alignments.setdefault(record.alignment, len(alignments)),
            "score": record.score,
            "bleu": record.bleu,
            **({"maps": record.maps} if record.maps else {}),
            **(
                {}
                if record.reference is None
                else {"reference": references.setdefault(record.reference, len(references))}
            ),
            "weights": base64.b64encode(record.weights.astype("<u2").tobytes()).decode("ascii"),
        }
        for step, record in sorted(records.items())
    ]
    return {
        "sources": list(sources),
        "targets": list(targets),
        "alignments": list(alignments),
        "references": list(references),
        "frames": frames,
    }


def _hexadecimal(colour: Iterable[int]) -> str:
    return "#" + bytes(colour).hex()
