"""What the viewer asks for: an index of all sentences, and the steps of one of them.

Both are JSON values, made from any of TensorBoard's data providers. A record or a tag that cannot
be read is left out and named under ``problems``; it never ends in an exception.
"""

import base64
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.event_pb2 import SessionLog
from tensorboard.context import RequestContext
from tensorboard.data.provider import DataProvider, RunTagFilter, TensorDatum

from tensorboard_attention.colors import color_scales
from tensorboard_attention.record import (
    PLUGIN_NAME,
    VERSION,
    AttentionRecord,
    RecordError,
    Weights,
    decode_record,
)

ALL_STEPS = 1_000_000
"""More than a run has: providers want a bound."""

ANSWER_BYTES = 1 << 17
"""Of the frames of an answer, about: 40 steps of 30 x 30 tokens, some hundred of an ordinary sentence."""
FRAME_BYTES = 168
"""Of a frame without its weights and tokens."""

MAX_PROBLEMS = 20
KINDS = ("forced", "greedy", "beam")
"""In the order in which they are offered; others follow."""

Json = dict[str, Any]


class _Described(Struct):
    """What a tag says of itself."""

    sentence: str
    kind: str
    rank: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    text: str
    version: Literal[5]


def index(provider: DataProvider, context: RequestContext, experiment_id: str = "") -> Json:
    """All runs with their sentences, kinds and ranks, and the colors to draw with."""
    series = provider.list_tensors(context, experiment_id=experiment_id, plugin_name=PLUGIN_NAME)
    runs, problems = [], []
    for run in sorted(series, key=natural):
        tags = []
        for tag, series_of_tag in series[run].items():
            try:
                described = msgspec.json.decode(series_of_tag.plugin_content, type=_Described)
            except (ValueError, msgspec.MsgspecError) as error:
                problems.append(f"{run}, {tag}: not written by this version of add_attention: {error}")
                continue
            time = series_of_tag.max_wall_time
            times = {"max_step": series_of_tag.max_step, "wall_time": time if math.isfinite(time) else None}
            tags.append({"tag": tag, **msgspec.structs.asdict(described), **times})
            del tags[-1]["version"]
        if tags:
            runs.append({"run": run, "tags": sorted(tags, key=_order)})
    return {"version": VERSION, "runs": runs, "problems": problems[:MAX_PROBLEMS], **color_scales()}


class Records:
    """Reads the records of tags from a data provider, and keeps those of the last few tags.

    A provider converts all records of a tag at each request, which takes a quarter of a second for 10,000.
    `restarts` are looked for in the log folder, if it is given.
    """

    MOST_TAGS = 4

    def __init__(self, provider: DataProvider, logdir: str = "") -> None:
        self._provider, self._logdir = provider, logdir
        self._lock = Lock()
        self._kept: dict[tuple[Any, ...], dict[int, bytes]] = {}

    def of(
        self, context: RequestContext, run: str, tag: str, experiment_id: str = ""
    ) -> dict[int, bytes] | None:
        """Return the records of a tag by step, see `current`; None where there is no such tag.

        Raises:
            ValueError, TypeError or MemoryError: TensorBoard cannot read them.
        """
        only = RunTagFilter(runs=[run], tags=[tag])
        wanted = {"experiment_id": experiment_id, "plugin_name": PLUGIN_NAME, "run_tag_filter": only}
        series = self._provider.list_tensors(context, **wanted).get(run, {}).get(tag)
        if series is None:
            return None
        voided = restarts(Path(self._logdir) / run) if self._logdir else ()
        key = (experiment_id, run, tag, series.max_step, series.max_wall_time, voided)
        with self._lock:
            if key not in self._kept:
                data = self._provider.read_tensors(context, downsample=ALL_STEPS, **wanted)
                self._kept[key] = current(data.get(run, {}).get(tag, ()), voided)
                for oldest in list(self._kept)[: -self.MOST_TAGS]:
                    del self._kept[oldest]
            return self._kept[key]


def restarts(folder: Path) -> tuple[tuple[int, float], ...]:
    """Return steps and times at which a run was continued: what was written before, from that step on, is void.

    ``SummaryWriter(purge_step=…)`` writes them at the beginning of its event file. TensorBoard's fast reader of
    event files does not heed them.
    """
    found = []
    for file in sorted(path for path in folder.glob("*tfevents*") if path.is_file())[1:]:
        with suppress(Exception):  # the file is damaged, or gone
            for event in islice(EventFileLoader(str(file)).Load(), 4):
                if event.session_log.status == SessionLog.START:
                    found.append((event.step, event.wall_time))
    return tuple(found)


def current(data: Iterable[TensorDatum], voided: Iterable[tuple[int, float]] = ()) -> dict[int, bytes]:
    """Return records by step, without those that a continued run has made void or has overwritten.

    As TensorBoard does for scalars and images, a record with a step that is not above those before it removes those
    from that step on.
    The data are in the order in which they were written; `voided` see `restarts`.
    """
    kept: dict[int, bytes] = {}
    for datum in data:
        while kept and next(reversed(kept)) >= datum.step:
            kept.popitem()
        if not any(datum.step >= step and datum.wall_time < time for step, time in voided):
            value = datum.numpy.item() if datum.numpy.size == 1 else None
            kept[datum.step] = value if isinstance(value, bytes) else b""
    return kept


def view(
    records: Records,
    context: RequestContext,
    run: str,
    tag: str,
    *,
    step: int | None = None,
    order: Callable[[list[int]], list[int]] | None = None,
    most_bytes: int | None = None,
    experiment_id: str = "",
) -> Json | None:
    """Return the steps of one tag of one run, and the frames of some.

    Frames are those nearest to `step`, or to the last step; `order` sorts the steps in another way.

    Returns:
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
    chosen = order(sorted(found)) if order else nearest
    return frames_of(run, tag, found, chosen, ANSWER_BYTES if most_bytes is None else most_bytes)


def frames_of(
    run: str, tag: str, records: Mapping[int, bytes], order: Iterable[int], most_bytes: int
) -> Json:
    """Return the steps of a tag, and the frames of those that `decoded` chooses."""
    chosen, problems = decoded(records, order, most_bytes)
    return {
        "run": run,
        "tag": tag,
        "steps": sorted(set(records) - set(problems)),
        **_frames(chosen),
        "problems": [f"step {step}: {problem}" for step, problem in problems.items()],
    }


def decoded(
    records: Mapping[int, bytes], order: Iterable[int], most_bytes: int
) -> tuple[dict[int, AttentionRecord], dict[int, str]]:
    """Return some records by step, and what is wrong with damaged ones among them.

    They are taken in `order` while they fit into `most_bytes` as JSON, the first even if it is larger.
    """
    chosen: dict[int, AttentionRecord] = {}
    problems: dict[int, str] = {}
    for step in order:
        try:
            record = decode_record(records[step])
        except RecordError as error:
            problems[step] = str(error)
            if len(problems) == MAX_PROBLEMS:
                break
            continue
        text = json.dumps(
            [record.source, record.target, record.alignment, record.reference, record.layers, record.marks]
        )
        num_bytes = record.weights.nbytes + (0 if record.effect is None else record.effect.nbytes)
        most_bytes -= len(text) + num_bytes * 4 // 3 + FRAME_BYTES
        if most_bytes < 0 and chosen:
            break
        chosen[step] = record
    return chosen, problems


def natural(text: str) -> list[tuple[int, int, str]]:
    """Sorts numbers inside of text by their value."""
    found = re.findall(r"0*([0-9]+)|([^0-9]+)", text)
    return [(0, len(digits), digits) if digits else (1, 0, other) for digits, other in found]


def _order(described: Json) -> tuple[Any, ...]:
    kind = described["kind"]
    place = KINDS.index(kind) if kind in KINDS else len(KINDS)
    return natural(described["sentence"]), place, natural(kind), described["rank"]


def _base64(weights: Weights) -> str:
    return base64.b64encode(weights.astype("<u2").tobytes()).decode("ascii")


def _frames(records: Mapping[int, AttentionRecord]) -> Json:
    """Return frames in the order of steps; what most of them share, such as tokens, is there once."""
    names = "sources", "targets", "alignments", "references", "layers"
    tables: dict[str, dict[Any, int]] = {name: {} for name in names}  # distinct values and their places

    def place(name: str, value: Any) -> int:
        return tables[name].setdefault(value, len(tables[name]))

    frames = [
        {
            "step": step,
            "source": place("sources", record.source),
            "target": place("targets", record.target),
            "alignment": place("alignments", record.alignment),
            "reference": None if record.reference is None else place("references", record.reference),
            "layers": None if record.layers is None else place("layers", record.layers),
            "score": record.score,
            "bleu": record.bleu,
            "maps": record.maps,
            "weights": _base64(record.weights),
            **(
                {}
                if record.effect is None
                else {"effect": _base64(record.effect), "effect_most": record.effect_most}
            ),
            **({"marks": record.marks} if record.marks else {}),
            **({} if record.head_effects is None else {"head_effects": record.head_effects}),
        }
        for step, record in sorted(records.items())
    ]
    return {name: list(table) for name, table in tables.items()} | {"frames": frames}
