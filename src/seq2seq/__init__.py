"""Recurrent sequence-to-sequence translation with attention.

From Python: `train`, `sweep`, `compare`, `load` and `show_attention`, which load nothing before
they are called, and the exceptions that they raise. See docs/python.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seq2seq.errors import InputError, TrainingFailed

if TYPE_CHECKING:
    from seq2seq.interface.calls import compare, load, show_attention, sweep, train

__all__ = ["InputError", "TrainingFailed", "compare", "load", "show_attention", "sweep", "train"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("seq2seq.interface.calls"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
