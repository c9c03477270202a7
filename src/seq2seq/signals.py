"""Which signals ask a program to stop."""

import signal

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, ``kill``, and a terminal that is closed."""


def stop_signals() -> tuple[signal.Signals, ...]:
    """Those to listen to: not SIGHUP where the program was started to ignore it (``nohup``)."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return STOP_SIGNALS[:2] if ignored else STOP_SIGNALS


def insists(number: int, before: int | None) -> bool:
    """Whether a signal, after another, means to stop at once.

    SIGHUP does not: of a closed terminal both the kernel and the shell tell.
    """
    return number in STOP_SIGNALS[:2] and before in STOP_SIGNALS
