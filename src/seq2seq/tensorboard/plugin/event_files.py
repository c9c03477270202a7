"""Reads attention records from event files, without a TensorBoard that runs."""

import logging
from pathlib import Path

from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.context import RequestContext

from seq2seq.errors import InputError
from seq2seq.tensorboard.plugin import views
from seq2seq.tensorboard.plugin.views import Json
from seq2seq.tensorboard.record_format import PLUGIN_NAME

PAGE_BYTES = 1 << 26
"""Of the frames of a page, about."""


def read_log_folder(folder: Path, *, name: str | None = None) -> Json:
    """Index and views of a folder of runs, as `page` takes them, with frames of `PAGE_BYTES`.

    Args:
        folder: a run folder, or one with runs below it.
        name: what to call the run of `folder` itself; None for the folder's name.

    Raises:
        InputError: there are no attention records in it.
    """
    logging.getLogger("tensorboard").setLevel(logging.ERROR)
    multiplexer = EventMultiplexer(tensor_size_guidance={PLUGIN_NAME: 0})
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    provider = MultiplexerDataProvider(multiplexer, str(folder))
    context = RequestContext()
    index = views.index(provider, context)
    found = [
        (described["run"], tag["tag"]) for described in index["runs"] for tag in described["tags"]
    ]
    if not found:
        raise InputError(
            f"{folder} holds no attention records: give the folder of a run that was trained with "
            "tensorboard.panel, or a model and --input FILE"
        )
    own, all_views, left = name or folder.resolve().name, [], PAGE_BYTES
    for place, (run, tag) in enumerate(found):
        view, num_bytes = _view(multiplexer, run, tag, left // (len(found) - place))
        all_views.append(view)
        left -= num_bytes
    for described in (*index["runs"], *all_views):
        if described["run"] == ".":
            described["run"] = own
    return {"index": index, "views": all_views}


def _view(multiplexer: EventMultiplexer, run: str, tag: str, most_bytes: int) -> tuple[Json, int]:
    """As many steps as fit, evenly spread from the latest on; and what they take."""
    events = multiplexer.Tensors(run, tag)
    records = {event.step: _content(event.tensor_proto) for event in events}
    steps = sorted(records)
    strides = (1 << power for power in reversed(range(len(steps).bit_length())))
    places = dict.fromkeys(
        place for stride in strides for place in range(len(steps) - 1, -1, -stride)
    )
    frames = views.read_frames(records, [steps[place] for place in places], most_bytes)
    if frames.num_bytes > most_bytes:  # the first, in any case
        frames = views.Frames({}, frames.problems, frames.unreadable)
    num_left = len(records) - len(frames.records) - len(frames.unreadable)
    if num_left:
        frames.problems.append(f"{num_left} of {len(records)} steps are left out of this page")
    return views.described(run, tag, frames, sorted(frames.records)), frames.num_bytes


def _content(tensor: TensorProto) -> bytes:
    """The one byte string that a record's tensor holds; nothing for another tensor."""
    return tensor.string_val[0] if len(tensor.string_val) == 1 else b""
