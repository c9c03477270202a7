"""The viewer's page of a run, or of a model that translates."""

from pathlib import Path
from tempfile import TemporaryDirectory

from seq2seq.errors import InputError
from seq2seq.pictures.gif import gif_bytes
from seq2seq.pictures.heatmap import render_attention
from seq2seq.tensorboard.plugin.event_files import PAGE_BYTES, read_log_folder, read_steps
from seq2seq.tensorboard.plugin.page import page
from seq2seq.tensorboard.plugin.views import colours, frames_of
from seq2seq.tensorboard.record_format import AttentionRecord, encode_record
from seq2seq.text.corpus import read_sources

GIF_STEPS = 200
GIF_BYTES = 1 << 19
"""Of the weights of its pictures, which have up to 512 pixels for each byte of them."""


def export_run(folder: Path) -> str:
    """The page of what was recorded in a run folder, or in the runs below a folder.

    Raises:
        InputError: there is nothing recorded.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give a run folder")
    return page(read_log_folder(folder), title=f"Attention of {folder.resolve().name}")


def export_translations(
    model: Path, source: Path, target: Path | None, *, beam: int, device: str
) -> str:
    """The page of a model's translations of a text file, see `log_translations`.

    Raises:
        InputError: a file or the model is missing, or every line is blank.
    """
    pairs = read_sources(source, target)
    # torch loads only for files that can be read
    from seq2seq.tensorboard.log_translations import log_translations  # noqa: PLC0415

    with TemporaryDirectory() as folder:
        log_translations(Path(folder), model, pairs, step=0, beam=beam, device=device)
        data = read_log_folder(Path(folder), name=model.resolve().name)
    return page(data, title=f"Attention of {model.resolve().name}: {source.name}")


def animated_steps(folder: Path, tag: str) -> bytes:
    """A GIF of what was recorded of one tag of a run folder: its attention as it forms.

    Several heads are their mean. Where there are more steps than a GIF should have, they are the
    last and others evenly spread.

    Raises:
        InputError: there is nothing recorded under that name.
    """
    records = read_steps(folder, tag, most=GIF_STEPS, most_bytes=GIF_BYTES)
    return gif_bytes(
        [
            render_attention(
                record.mean(),
                record.source,
                record.target,
                title=f"step {step:,}",
            )
            for step, record in records.items()
        ]
    )


def export_record(record: AttentionRecord, *, kind: str, title: str) -> str:
    """The page of one record."""
    known = {"sentence": "sentence", "text": " ".join(record.source), "kind": kind, "rank": 0}
    tag = {"tag": kind, "max_step": 0, "wall_time": None, **known}
    run = {"run": "model", "tags": [tag]}
    view = frames_of("model", kind, {0: encode_record(record)}, [0], PAGE_BYTES)
    return page(
        {"index": {"runs": [run], "problems": [], **colours()}, "views": [view]}, title=title
    )
