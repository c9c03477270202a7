"""Attention in TensorBoard: a tab that replays, compares and explains the attention of any model.

    from tensorboard_attention import add_attention, export_html, show

    add_attention("runs/mine", "sentence 1", weights, source_tokens, target_tokens, step)

Neither torch nor the program that trained the model is needed.
"""

from tensorboard_attention.page import export_html, show
from tensorboard_attention.writer import add_attention, cross_attention

__all__ = ["add_attention", "cross_attention", "export_html", "show"]
