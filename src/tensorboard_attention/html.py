"""The viewer as one HTML file that needs no server, and as a frame in a notebook."""

from pathlib import Path
from typing import Any

from tensorboard_attention.event_files import PAGE_BYTES, read_log_folder
from tensorboard_attention.page import framed, page
from tensorboard_attention.record import AttentionRecord, encode_record
from tensorboard_attention.views import colours, frames_of
from tensorboard_attention.writer import attention_record


def export_html(logdir: str | Path, name: str | None = None) -> str:
    """Return the page of all attention that was recorded in a log folder, or in the runs below it.

    Args:
        logdir: The folder.
        name: Name of a run in the folder itself; None: that of the folder.

    Raises:
        ValueError: The folder holds no attention records.
    """
    folder = Path(logdir)
    return page(read_log_folder(folder, name=name), title=f"Attention of {folder.resolve().name}")


def record_page(record: AttentionRecord, *, kind: str, title: str) -> str:
    """Return the page of one record."""
    known = {"sentence": "sentence", "text": " ".join(record.source), "kind": kind, "rank": 0}
    run = {"run": "model", "tags": [{"tag": kind, "max_step": 0, "wall_time": None, **known}]}
    view = frames_of("model", kind, {0: encode_record(record)}, [0], PAGE_BYTES)
    return page({"index": {"runs": [run], "problems": [], **colours()}, "views": [view]}, title=title)


class Framed:
    """A page that a notebook shows in a frame of so many pixels."""

    def __init__(self, page: str, *, height: int) -> None:
        self.page, self.height = page, height

    def _repr_html_(self) -> str:
        return framed(self.page, height=self.height)


class Shown:
    """Attention that a notebook shows in a frame which needs no network."""

    def __init__(self, record: AttentionRecord, kind: str = "attention") -> None:
        self.record, self.kind = record, kind

    def _repr_html_(self) -> str:
        height = 330 + 30 * len(self.record.target) + 110 * sum(self.record.maps[:1])  # rows; small maps
        return framed(record_page(self.record, kind=self.kind, title="Attention"), height=min(900, height))


def show(weights: Any, source_tokens: Any, target_tokens: Any, **options: Any) -> Shown:
    """Return what a notebook shows of attention weights; arguments are those of `add_attention`."""
    return Shown(attention_record(weights, source_tokens, target_tokens, **options))
