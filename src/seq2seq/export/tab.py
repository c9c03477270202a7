"""What the Attention tab asks for a run: the entry point ``tensorboard_attention.models``. Imports torch only for a page."""

from collections.abc import Callable
from pathlib import Path

MODEL_FILES = "config.json", "model.safetensors", "source.json", "target.json"
MODEL_BYTES = 1 << 27
"""Of the weights of a model that is sent to a browser, which are a quarter of that there."""


def model_page(folder: Path) -> Callable[[], str] | None:
    """Return what makes the interactive page of a run's model.

    Returns:
        None if the run has no model that a browser can hold, or a link leads out of its folder.
    """
    files = [folder / "model" / name for name in MODEL_FILES]
    try:
        is_own = all(file.resolve() == file for file in files)
        is_there = files[0].is_file() and files[1].stat().st_size <= MODEL_BYTES
    except OSError:  # absent
        return None
    return (lambda: _page(files[0].parent)) if is_own and is_there else None


def _page(folder: Path) -> str:
    from seq2seq.export.translating_page import export_page

    return export_page(folder, "")
