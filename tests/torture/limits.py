"""What anything may take: time of a processor, which a busy machine does not use up, and memory."""

import gc
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MOST_SECONDS = 60.0
"""Of a processor, for a process and what it starts: to refuse something, or to train a little."""
MOST_MEMORY = 2 << 30
"""Bytes, beside what the process had when it was forked."""
PATIENCE = 1200.0
"""Seconds of a clock: for what waits for ever."""

LOOK_EVERY = 0.1
TICK = os.sysconf("SC_CLK_TCK")


class OutOfTimeError(BaseException):
    """Nothing that is tried catches it."""


def wait(process: int, most_seconds: float | None = None) -> tuple[int, float]:
    """Wait for a child; one that takes more than the limits is killed, with all that it started.

    Args:
        process: its id.
        most_seconds: of a processor; `MOST_SECONDS`, if it is left out.

    Memory is that beyond what this process holds, of which a fork has all; not of files, of which
    it has none at first.

    Returns:
        Its exit status, negative for a signal, and the seconds of a processor that it took.
    """
    since, looked, before = time.monotonic(), 0.0, _memory("self", "RssAnon")
    limit = MOST_SECONDS if most_seconds is None else most_seconds
    while True:
        ended, status, usage = os.wait4(process, os.WNOHANG)
        now = time.monotonic()
        if ended:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
        if now - looked > LOOK_EVERY:
            looked = now
            taken = {
                "seconds of a processor": (seconds_of(process), limit),
                "bytes": (_memory(process, "RssAnon") - before, MOST_MEMORY),
                "seconds of a clock": (now - since, PATIENCE),
            }
            over = [f"{much:,.0f} {what}" for what, (much, most) in taken.items() if much > most]
            if over:
                print(f"  KILLED {process}: {over[0]}", file=sys.stderr, flush=True)
                _kill(process)
        time.sleep(0.005)


def seconds_of(process: int) -> float:
    """Seconds of a processor that a process, what it started and what of that has ended took."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICK + sum(map(seconds_of, _children(process)))
    return 0.0


def _children(process: int) -> list[int]:
    with suppress(OSError):
        return [
            int(child)
            for path in Path(f"/proc/{process}/task").glob("*/children")
            for child in path.read_text().split()
        ]
    return []


def _kill(process: int) -> None:
    for child in _children(process):
        _kill(child)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _memory(process: int | str, kind: str) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(f"{kind}:"):
                return int(line.split()[1]) << 10
    return 0


@contextmanager
def limited() -> Iterator[list[str]]:
    """Hold what this process does within to the limits; the list says what it took too much of."""
    wrong: list[str] = []
    gc.collect()  # what is let go of meanwhile would hide what is taken
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins at what is held now
    before = _memory("self", "VmHWM")
    signals = (signal.SIGPROF, signal.SIGALRM)
    handlers = {number: signal.signal(number, _out_of_time) for number in signals}
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield wrong
    except OutOfTimeError:
        wrong.append(f"it took more than {MOST_SECONDS} s")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    memory = _memory("self", "VmHWM") - before
    if memory > MOST_MEMORY:
        wrong.append(f"it took {memory:,} bytes")


def _out_of_time(*_: object) -> None:
    raise OutOfTimeError
