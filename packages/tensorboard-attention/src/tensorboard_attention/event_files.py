"""Reads attention records from event files, without a TensorBoard that runs."""

import json
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext

from tensorboard_attention import views
from tensorboard_attention.record import PLUGIN_NAME, AttentionRecord
from tensorboard_attention.views import Json

PAGE_BYTES = 1 << 26
"""Of the frames of a page, about."""


def read_log_folder(folder: Path, *, name: str | None = None) -> Json:
    """Return index and views of a folder of runs, as `html_page` takes them, with frames of `PAGE_BYTES`.

    Of a run in the folder itself `name` is the name, by default that of the folder.

    Raises:
        ValueError: there are no attention records in it.
    """
    provider = _provider(folder)
    index = views.index(provider, RequestContext())
    found = [(described["run"], tag["tag"]) for described in index["runs"] for tag in described["tags"]]
    if not found:
        raise ValueError(
            f"{folder} holds no attention records: give the folder of a run that was trained with "
            "callbacks.attention, or a model and --source FILE"
        )
    records, all_views, left = views.Records(provider), list[Json](), PAGE_BYTES
    for place, (run, tag) in enumerate(found):
        share = left // (len(found) - place)
        order = _evenly if share else lambda _: []
        view = views.view(records, RequestContext(), run, tag, order=order, most_bytes=share) or {}
        kept = [frame["step"] for frame in view["frames"]]
        if num_left := len(view["steps"]) - len(kept):
            view["problems"].append(f"{num_left} of {len(view['steps'])} steps are left out of this page")
        all_views.append(view | {"steps": kept})
        left = max(0, left - len(json.dumps(all_views[-1])))
    shown = name or folder.resolve().name
    if shown not in {described["run"] for described in index["runs"]}:
        for described in (*index["runs"], *all_views):
            if described["run"] == ".":
                described["run"] = shown
    return {"index": index, "views": all_views}


def read_steps(folder: Path, tag: str, *, most: int, most_bytes: int) -> dict[int, AttentionRecord]:
    """Return the records of a tag of a run folder, by step: as many as fit, see `_evenly`.

    Raises:
        ValueError: it has no such tag, or one that cannot be read.
    """
    provider = _provider(folder)
    records = views.Records(provider).of(RequestContext(), ".", tag)
    if records is None:
        runs = views.index(provider, RequestContext())["runs"]
        tags = [each["tag"] for run in runs if run["run"] == "." for each in run["tags"]]
        known = f"there are {len(tags)}, such as {', '.join(tags[:3])}" if tags else "there is none"
        raise ValueError(f"{folder} holds no attention of the name {tag}: {known}")
    chosen, problems = views.decoded(records, _evenly(sorted(records))[:most], most_bytes)
    if problems:
        raise ValueError(f"{folder}: {tag} is damaged: {next(iter(problems.values()))}")
    return dict(sorted(chosen.items()))


class Recorded(NamedTuple):
    """What a folder holds of one tag: its steps, ascending, and the tokens of the source at the last one."""

    steps: list[int]
    source: tuple[str, ...]


def recorded(folder: Path) -> dict[str, Recorded]:
    """Return what a folder itself, without those within it, holds of each tag; nothing where there is no such folder.

    Raises:
        ValueError: a file in it is damaged.
    """
    if not folder.is_dir():
        return {}
    provider = _provider(folder, within=False)
    records, found = views.Records(provider), dict[str, Recorded]()
    for run in views.index(provider, RequestContext())["runs"]:
        for tag in run["tags"]:
            by_step = records.of(RequestContext(), run["run"], tag["tag"]) or {}
            last, _ = views.decoded(by_step, sorted(by_step)[-1:], 0)
            found[tag["tag"]] = Recorded(sorted(by_step), next((r.source for r in last.values()), ()))
    return found


class _Damaged(logging.Handler):
    """What TensorBoard says of damaged records; of one that is not whole, as of a run that is written, it says otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the file of a wrong checksum."""
        if "crc32 check" in record.getMessage() and isinstance(record.args, tuple):
            self.files[str(record.args[0])] = None


def _provider(folder: Path, *, within: bool = True) -> MultiplexerDataProvider:
    """Return a provider of the event files of a folder, and of the folders within it."""
    files = folder.rglob("*tfevents*") if within else folder.glob("*tfevents*")
    if pipe := next((path for path in files if path.is_fifo()), None):
        raise ValueError(f"{pipe} is a pipe, which would be waited for: remove it")
    multiplexer = EventMultiplexer(tensor_size_guidance={PLUGIN_NAME: 0})
    logger, damaged = logging.getLogger("tensorboard"), _Damaged()
    level, passes_on, handlers = logger.level, logger.propagate, [*logger.handlers]
    try:
        logger.setLevel(logging.DEBUG)
        logger.propagate, logger.handlers = False, [damaged]
        if within:
            multiplexer.AddRunsFromDirectory(str(folder))
        else:
            multiplexer.AddRun(str(folder), ".")
        multiplexer.Reload()
    except Exception as error:  # of protobuf
        raise ValueError(f"{folder} holds a damaged event file: move it elsewhere ({error})") from error
    finally:
        logger.setLevel(level)
        logger.propagate, logger.handlers = passes_on, handlers
    for path in damaged.files:
        warnings.warn(f"{path} is damaged: what follows in it is left out", stacklevel=3)
    return MultiplexerDataProvider(multiplexer, str(folder))


def _evenly(steps: Sequence[int]) -> list[int]:
    """Return the last, and others evenly spread, closer and closer."""
    places = dict[int, None]()
    for power in reversed(range(len(steps).bit_length())):
        places |= dict.fromkeys(range(len(steps) - 1, -1, -(1 << power)))
    return [steps[place] for place in places]
