"""The end of a program: one line and an exit status for what goes wrong, in place of a traceback.

What a user gave wrongly ends a program with status 2 and one line that names the key or the file and what to do. An
exception inside a class of the user's own shows the user's frames only. Any other exception is a defect and keeps its
traceback. ``HYDRA_FULL_ERROR=1`` shows every traceback.
"""

import io
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any, NoReturn

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from hydra_checked.errors import Failed
from hydra_checked.program.application import Application
from hydra_checked.program.mistakes import behind, hint_for_option, message_of, show_frames_of_user


class Reported(SystemExit):
    """The end of a program that has printed why."""


@contextmanager
def exit_on_error(app: Application) -> Iterator[None]:
    """Print one line and exit: status 2 for what is `Wrong`, that of a `Failed`, 130 after Ctrl-C, 141 without a reader.

    Modules in the working folder can be imported in the context.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        yield
    except BrokenPipeError:  # the reader of standard output has ended, such as `head`
        sys.stdout = open(os.devnull, "w")
        sys.exit(141)  # as after SIGPIPE
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1" and isinstance(error, Exception):
            raise
        exit_with(app, error)


def exit_with(app: Application, error: BaseException) -> NoReturn:
    """Print what is wrong, and exit."""
    status = error.status if isinstance(error, Failed) else 2
    if status > 128:
        print(error, file=sys.stderr)
        exit_stopped(status)
    if any(
        isinstance(each, KeyboardInterrupt) for each in behind(error)
    ):  # as cleaning up after it has failed
        exit_stopped(130)
    message = message_of(app, error)
    if message is not None:
        print(f"error: {message}", file=sys.stderr)
        raise Reported(status)
    if not show_frames_of_user(app, error):
        traceback.print_exception(error)
    raise Reported(1)


def exit_stopped(status: int) -> NoReturn:
    """Exit after a signal; one more Ctrl-C ends the process at once, and no handler of it raises while Python ends."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise Reported(status)


def start(app: Application, main: Callable[[], Any]) -> None:
    """Run the function that ``hydra.main`` returns; every exception ends in one line, and warnings go to the logs.

    Hydra prints an exception and exits; what it prints is held back, and the exception is the context of `SystemExit`.
    """
    logging.captureWarnings(True)
    held = io.StringIO()
    with exit_on_error(app):
        sys.argv[1:] = app.deletable(sys.argv[1:])
        # -m may stand anywhere
        sys.argv[1:] = sorted(sys.argv[1:], key=lambda each: each not in ("-m", "--multirun"))
        try:
            with redirect_stderr(held):
                main()
        except SystemExit as end:
            error, full = end.__context__, os.environ.get("HYDRA_FULL_ERROR") == "1"
            if end.code == 1 and isinstance(error, Exception) and not (full or isinstance(end, Reported)):
                exit_with(app, error)
            said = held.getvalue()
            if end.code == 2 and "error: " in said:  # of argparse, after the usage
                hint = hint_for_option(app, sys.argv[1:])
                said = f"error: {said.rpartition('error: ')[2].strip()}; {hint}\n"
            print(said, end="", file=sys.stderr)
            raise
        print(held.getvalue(), end="", file=sys.stderr)


def run_task(app: Application, task: Callable[[DictConfig], Any], config: DictConfig) -> Any:
    """Call the task of a Hydra application; exceptions of a single run are reported here, before Hydra does."""
    with redirect_stderr(sys.__stderr__):  # not where `start` holds back what Hydra prints
        if HydraConfig.get().mode != RunMode.RUN:
            return task(config)
        with exit_on_error(app):
            return task(config)
