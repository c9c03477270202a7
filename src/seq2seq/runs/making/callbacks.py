"""Callbacks of other packages, whose failures are one line that names them."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback

from seq2seq.config import CALLBACKS
from seq2seq.errors import InputError, TrainingFailed
from seq2seq.plain_text import first_line
from seq2seq.registry import foreign
from seq2seq.training.checkpoint_file import require_plain

HOOKS = [name for name, hook in vars(Callback).items() if callable(hook) and name[0] != "_"]


def build_callbacks(names: Sequence[str], run_dir: Path) -> list[Callback]:
    """The callbacks of these names. What saves comes after them, so that it saves all of theirs.

    Raises:
        InputError: a package is broken, or brings something else.
    """
    try:
        return [_guarded(name, CALLBACKS.made(name, run_dir)) for name in names]
    except (ValueError, ImportError, TypeError) as error:
        raise InputError(f"trainer.callbacks: {first_line(error)}") from error


def _guarded(name: str, callback: Any) -> Callback:
    if not isinstance(callback, Callback):
        raise TypeError(f"callback {name!r} makes no Callback of Lightning: {callback!r:.80}")
    for hook in HOOKS:
        setattr(callback, hook, _failing_in_one_line(name, getattr(callback, hook)))
    # its state may have any form: it is read by the callback alone
    vars(callback).setdefault("require_state", lambda *_: None)
    return callback


def _failing_in_one_line(name: str, hook: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(hook)
    def call(*given: Any, **named: Any) -> Any:
        try:
            with foreign(f"callback {name!r} fails in {hook.__name__}"):
                result = hook(*given, **named)
                if hook.__name__ == "state_dict":
                    require_plain(result)
        except ImportError as error:
            raise TrainingFailed(
                f"{first_line(error)}; the last checkpoint is intact, without the callback "
                "resume.force=true continues it"
            ) from error
        return result

    return call
