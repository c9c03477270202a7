"""What a program does before it imports anything: Ctrl-C, and standard error."""

import os
import signal
import sys
from types import FrameType

IMPORT = "<frozen importlib._bootstrap>"
"""Where Python imports modules."""


def end_imports_on_interrupt() -> None:
    """Let Ctrl-C end the process at once, with status 130, while a module is imported; else it raises KeyboardInterrupt.

    Nothing is to be saved then, and an exception within an import leaves half a module behind, about which others
    print pages. A handler that is not Python's own stays.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Handle a signal as `end_imports_on_interrupt` says."""
    while frame is not None:
        if frame.f_code.co_filename == IMPORT:
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt


def require_standard_error() -> None:
    """Open what a caller has closed: `print` would write warnings to standard output instead."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
