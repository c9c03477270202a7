"""Attention in TensorBoard: a tab that replays, compares and explains the attention of any model.

    from tensorboard_attention import add_attention, capture, export_html, show

    add_attention("runs/mine", "sentence 1", weights, source_tokens, target_tokens, step)
    with capture(model, "runs/mine", step):
        model(**probe)

`capture` needs PyTorch, `AttentionCapture` Lightning; nothing else needs them, or the program that trained the model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tensorboard_attention.page import export_html, show
from tensorboard_attention.writer import add_attention, cross_attention, leave_one_out

if TYPE_CHECKING:
    from tensorboard_attention.capturing import capture
    from tensorboard_attention.lightning_callback import AttentionCapture

__all__ = [
    "AttentionCapture",
    "add_attention",
    "capture",
    "cross_attention",
    "export_html",
    "leave_one_out",
    "show",
]

_LATER = {"capture": "capturing", "AttentionCapture": "lightning_callback"}
"""Names that are imported when they are used, and their modules."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
