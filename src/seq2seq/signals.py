"""Which signals ask a program to stop."""

import signal
import threading
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, ``kill``, and a terminal that is closed."""


def stop_signals() -> tuple[signal.Signals, ...]:
    """Those to listen to: not SIGHUP where the program was started to ignore it (``nohup``)."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return STOP_SIGNALS[:2] if ignored else STOP_SIGNALS


def take(numbers: Iterable[int], handler: Callable[[int, FrameType | None], Any]) -> dict[int, Any]:
    """Listen to signals; returns who did before. A thread other than the main one hears none."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.signal(number, handler) for number in numbers}


def give_back(before: dict[int, Any]) -> None:
    """Let those listen again who did before `take`."""
    for number, handler in before.items():
        signal.signal(number, handler)


def insists(number: int, before: int | None) -> bool:
    """Whether a signal, after another, means to stop at once.

    SIGHUP does not: of a closed terminal both the kernel and the shell tell.
    """
    return number in STOP_SIGNALS[:2] and before in STOP_SIGNALS
