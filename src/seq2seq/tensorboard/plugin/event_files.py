"""Reads attention records from event files, without a TensorBoard that runs."""

import logging
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext

from seq2seq.errors import InputError
from seq2seq.tensorboard.plugin import views
from seq2seq.tensorboard.record_format import PLUGIN_NAME


def read_log_folder(folder: Path, *, name: str | None = None) -> dict[str, Any]:
    """Index and all views of a folder of runs, as `page` takes them.

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
    all_views = [views.view(provider, context, run, tag) for run, tag in found]
    own = name or folder.resolve().name
    for described in (*index["runs"], *filter(None, all_views)):
        if described["run"] == ".":
            described["run"] = own
    return {"index": index, "views": all_views}
