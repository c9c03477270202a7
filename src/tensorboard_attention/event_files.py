"""Reads attention records from event files, without a TensorBoard that runs."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.context import RequestContext

from tensorboard_attention import views
from tensorboard_attention.record import (
    PLUGIN_NAME,
    AttentionRecord,
    RecordError,
    decode_record,
)
from tensorboard_attention.views import Json


class NoRecordsError(ValueError):
    """A folder holds no attention records that can be read."""


PAGE_BYTES = 1 << 26
"""Of the frames of a page, about."""


def read_log_folder(folder: Path, *, name: str | None = None) -> Json:
    """Index and views of a folder of runs, as `page` takes them, with frames of `PAGE_BYTES`.

    Of a run in the folder itself `name` is the name, by default that of the folder.

    Raises:
        NoRecordsError: there are no attention records in it.
    """
    multiplexer = _multiplexer(folder)
    index = _index(multiplexer, folder)
    found = [(described["run"], tag["tag"]) for described in index["runs"] for tag in described["tags"]]
    if not found:
        raise NoRecordsError(
            f"{folder} holds no attention records: give the folder of a run that was trained with "
            "callbacks.attention, or a model and --input FILE"
        )
    own, all_views, left = name or folder.resolve().name, [], PAGE_BYTES
    for place, (run, tag) in enumerate(found):
        events = multiplexer.Tensors(run, tag)
        records = views.current((event.step, _content(event.tensor_proto)) for event in events)
        all_views.append(_spread(run, tag, records, left // (len(found) - place)))
        left = max(0, left - len(json.dumps(all_views[-1])))
    for described in (*index["runs"], *all_views):
        if described["run"] == ".":
            described["run"] = own
    return {"index": index, "views": all_views}


def read_steps(folder: Path, tag: str, *, most: int, most_bytes: int) -> dict[int, AttentionRecord]:
    """The records of a tag of a run folder, by step: as many as fit, see `_evenly`.

    Args:
        folder: of the run.
        tag: with its kind.
        most: steps.
        most_bytes: of the weights of all steps.

    Raises:
        NoRecordsError: it has no such tag, or one that cannot be read.
    """
    multiplexer = _multiplexer(folder)
    tags = [
        each["tag"]
        for run in _index(multiplexer, folder)["runs"]
        if run["run"] == "."
        for each in run["tags"]
    ]
    if tag not in tags:
        known = f"there are {len(tags)}, such as {', '.join(tags[:3])}" if tags else "there is none"
        raise NoRecordsError(f"{folder} holds no attention of the name {tag}: {known}")
    events = multiplexer.Tensors(".", tag)
    records = views.current((event.step, _content(event.tensor_proto)) for event in events)
    chosen: dict[int, AttentionRecord] = {}
    for step in _evenly(sorted(records))[:most]:
        try:
            record = decode_record(records[step])
        except RecordError as error:
            raise NoRecordsError(f"{folder}: {tag} is damaged: {error}") from error
        most_bytes -= record.weights.nbytes
        if most_bytes < 0 and chosen:
            break
        chosen[step] = record
    return dict(sorted(chosen.items()))


def _multiplexer(folder: Path) -> EventMultiplexer:
    logging.getLogger("tensorboard").setLevel(logging.ERROR)
    multiplexer = EventMultiplexer(tensor_size_guidance={PLUGIN_NAME: 0})
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    return multiplexer


def _index(multiplexer: EventMultiplexer, folder: Path) -> Json:
    return views.index(MultiplexerDataProvider(multiplexer, str(folder)), RequestContext())


def _spread(run: str, tag: str, records: Mapping[int, bytes], most_bytes: int) -> Json:
    """As many steps as fit, see `_evenly`."""
    steps = sorted(records)
    view = views.frames_of(run, tag, records, _evenly(steps) if most_bytes else [], most_bytes)
    kept = [frame["step"] for frame in view["frames"]]
    if num_left := len(view["steps"]) - len(kept):
        problem = f"{num_left} of {len(steps)} steps are left out of this page"
        view["problems"].append(problem)
    return view | {"steps": kept}


def _evenly(steps: Sequence[int]) -> list[int]:
    """The last, and others evenly spread, closer and closer."""
    places = dict[int, None]()
    for power in reversed(range(len(steps).bit_length())):
        places |= dict.fromkeys(range(len(steps) - 1, -1, -(1 << power)))
    return [steps[place] for place in places]


def _content(tensor: TensorProto) -> bytes:
    """The one byte string that a record's tensor holds; nothing for another tensor."""
    return tensor.string_val[0] if len(tensor.string_val) == 1 else b""
