"""Attention in TensorBoard: a tab that replays, compares and explains the attention of any model.

    from tensorboard_attention import add_attention, capture, export_html, show

    add_attention("runs/mine", "sentence 1", weights, source_tokens, target_tokens, step)
    with capture(model, "runs/mine", step):
        model(**probe)

`capture` and `recording` need PyTorch, `AttentionCapture` Lightning, `AttentionCallback` transformers, `save_heatmap` and other figures
matplotlib; nothing else needs them, or the program that trained the model.
The other names are for programs with pages or figures of their own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tensorboard_attention.colors import color_scales, weight_colors
from tensorboard_attention.event_files import Recorded, read_steps, recorded
from tensorboard_attention.page import Framed, bundle, export_html, html_page, show, viewer_modules
from tensorboard_attention.record import MAX_TOKEN_LENGTH, MAX_TOKENS, MAX_WEIGHTS
from tensorboard_attention.writer import add_attention, cross_attention, leave_one_out

if TYPE_CHECKING:
    from tensorboard_attention.capturing import capture
    from tensorboard_attention.figures import new_figure, styled
    from tensorboard_attention.lightning_callback import AttentionCapture, log_picture, writer_of
    from tensorboard_attention.pictures import (  # fmt: skip
        AttentionFigure,
        Panel,
        draw_matrix,
        draw_steps,
        save_heatmap,
        write_gif,
    )
    from tensorboard_attention.probing import recording
    from tensorboard_attention.trainer_callback import AttentionCallback

__all__ = [
    "MAX_TOKENS", "MAX_TOKEN_LENGTH", "MAX_WEIGHTS", "AttentionCallback", "AttentionCapture", "AttentionFigure", "Framed", "Panel", "Recorded",
    "add_attention", "bundle", "capture", "color_scales", "cross_attention", "draw_matrix", "draw_steps", "export_html", "html_page",
    "leave_one_out", "log_picture", "new_figure", "read_steps", "recorded", "recording", "save_heatmap", "show", "styled", "viewer_modules", "weight_colors",
    "write_gif", "writer_of",
]  # fmt: skip

_LATER = {
    "capturing": ["capture"],
    "probing": ["recording"],
    "lightning_callback": ["AttentionCapture", "log_picture", "writer_of"],
    "trainer_callback": ["AttentionCallback"],
    "figures": ["new_figure", "styled"],
    "pictures": ["AttentionFigure", "Panel", "draw_matrix", "draw_steps", "save_heatmap", "write_gif"],
}
"""Modules that are imported when they are used, and their names."""


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
