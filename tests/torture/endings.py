"""How runs end, and what must not end them: terminals, readers, clocks, locks, file systems."""

import errno
import fcntl
import os
import pty
import random
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.torture.comparison import differences, left_by
from tests.torture.limits import PATIENCE
from tests.torture.signals import wait_for
from tests.torture.victims import command, log_of, main, run_child, start, wait


def hang_up(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """SIGHUP at random moments: once, twice as of a closed terminal, and under ``nohup``."""
    whole = _undisturbed(folder)
    generator = random.Random(5)
    for index in range(count):
        run_dir, how = folder / f"hup{index}" / "run", ("once", "twice", "nohup")[index % 3]

        def child(run_dir=run_dir, how=how) -> int:
            if how == "nohup":
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
            return main(command(run_dir))

        process = start(child, log_of(run_dir))
        time.sleep(generator.uniform(0.2, 3.0))
        for _ in range(1 + (how == "twice")):
            os.kill(process, signal.SIGHUP)
        status = wait(process)
        unbegun = status == -signal.SIGHUP and not run_dir.exists()
        allowed = {0} if how == "nohup" else {0, 128 + signal.SIGHUP}
        wrong = [] if status in allowed or unbegun else [f"exit status {status}"]
        yield f"SIGHUP {index}, {how}", wrong or _continues(run_dir, whole)


def lose_readers(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Readers that go away, at once or at a random moment: training goes on to its end."""
    whole = _undisturbed(folder)
    generator = random.Random(6)
    losses: dict[str, Callable[[float], None]] = {
        "/dev/full": lambda _: _full(1),
        "/dev/full, both": lambda _: _full(1, 2),
        "no standard output": lambda _: _close("stdout"),
        "no stream": lambda _: _close("stdin", "stdout", "stderr"),
        "pipe": _lose_pipe,
        "terminal": _lose_terminal,
    }
    for index in range(count):
        name = list(losses)[index % len(losses)]
        run_dir, after = folder / f"reader{index}" / "run", generator.uniform(0.0, 3.0)

        def child(run_dir=run_dir, name=name, after=after) -> int:
            losses[name](after)
            return main(command(run_dir))

        status = wait(start(child, log_of(run_dir)))
        wrong = [] if status == 0 else [f"exit status {status}: {log_of(run_dir).read_text()}"]
        if not wrong:
            wrong = differences(left_by(whole), left_by(run_dir))
        yield f"{name} after {after:.1f} s", wrong


def _full(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.dup2(os.open("/dev/full", os.O_WRONLY), descriptor)


def _close(*names: str) -> None:
    """As Python finds streams that were closed before it began."""
    for name in names:
        os.close(("stdin", "stdout", "stderr").index(name))
        setattr(sys, name, None)


def _lose_pipe(after: float) -> None:
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(writer)
        time.sleep(after)
        os._exit(0)
    os.close(reader)
    os.dup2(writer, 1)
    os.close(writer)


def _lose_terminal(after: float) -> None:
    """A terminal whose other end closes; the signal that comes with it is for others to try."""
    control, terminal = pty.openpty()
    if os.fork() == 0:
        time.sleep(after)
        os._exit(0)
    os.close(control)
    for descriptor in (1, 2):
        os.dup2(terminal, descriptor)
    os.close(terminal)


def set_back_clocks(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """A clock that is wrong when a run is continued: every series is as without a break."""
    whole = _undisturbed(folder)
    generator = random.Random(7)
    for index in range(count):
        run_dir, days = folder / f"clock{index}" / "run", generator.choice([-400, -1, -0.001, 30])
        process = start(lambda run_dir=run_dir: main(command(run_dir)), log_of(run_dir))
        wait_for(run_dir / "checkpoints" / "last.ckpt")
        os.kill(process, signal.SIGTERM)
        wait(process)
        yield f"{days} days", _continues(run_dir, whole, hook=lambda days=days: _set_clock(days))


def _set_clock(days: float) -> None:
    now = time.time
    time.time = lambda: now() + days * 86400


def meet_file_systems(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """File systems that cannot flush folders, or lock, and lock files that are removed."""
    whole = _undisturbed(folder)
    numbers = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)
    cases: dict[str, Callable[[Path], list[str]]] = {
        f"fsync of folders: {errno.errorcode[number]}": lambda place, number=number: _runs(
            place, 0, "cannot flush a folder", lambda: _refuse_flush(number), whole
        )
        for number in numbers
    }
    cases |= {
        f"flock: {errno.errorcode[number]}": lambda place, number=number: _runs(
            place, 2, "its file system has no locks", lambda: _refuse_locks(number), None
        )
        for number in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
    }
    cases["fsync of folders: EIO"] = lambda place: _runs(
        place, 1, "cannot be written to", lambda: _refuse_flush(errno.EIO), None
    )
    cases["lock of files only"] = lambda place: _runs(place, 0, "", _lock_files_only, whole)
    cases["lock file removed"] = _lock_removed
    cases["lock file removed, files only"] = lambda place: _lock_removed(place, _lock_files_only)
    for index, name in enumerate(cases):
        if index % max(round(1 / share), 1) == 0:
            yield name, cases[name](folder / f"system{index}" / "run")


def _runs(
    run_dir: Path, status: int, words: str, hook: Callable[[], None], whole: Path | None
) -> list[str]:
    found = run_child(run_dir, hook=hook)
    said = log_of(run_dir).read_text()
    if (
        found != status
        or words not in said
        or "Traceback" in said
        or said.count("WARNING: this") > 1
    ):
        return [f"exit status {found}: {said[-1500:]}"]
    return differences(left_by(whole), left_by(run_dir)) if whole is not None else []


def _refuse_flush(number: int) -> None:
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        sync(descriptor)

    os.fsync = fsync


def _refuse_locks(number: int) -> None:
    def flock(descriptor: int, how: int) -> None:
        raise OSError(number, os.strerror(number))

    fcntl.flock = flock


def _lock_files_only() -> None:
    """As on NFS."""
    lock = fcntl.flock

    def flock(descriptor: int, how: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        lock(descriptor, how)

    fcntl.flock = flock


def _lock_removed(run_dir: Path, hook: Callable[[], None] = lambda: None) -> list[str]:
    """One of the two ends, in one line, and the other goes on."""
    options = command(run_dir, ["trainer.max_epochs=400"])

    def child() -> int:
        hook()
        return main(options)

    first = start(child, log_of(run_dir))
    wait_for(run_dir / "checkpoints" / "last.ckpt")
    (run_dir / ".lock").unlink()
    second = start(child, log_of(run_dir.with_name("second")))
    ended, status = _first_to_end((first, second))
    said = "".join(log_of(run_dir.with_name(name)).read_text() for name in ("run", "second"))
    for process in {first, second} - {ended}:
        os.kill(process, signal.SIGTERM)
        if wait(process) != 128 + signal.SIGTERM:
            return [f"the other did not go on: {said[-1500:]}"]
    right = status in {1, 2} and "another process" in said and "Traceback" not in said
    return [] if right else [f"exit status {status}: {said[-1500:]}"]


def _first_to_end(processes: tuple[int, ...]) -> tuple[int, int]:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for process in processes:
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                return process, os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return 0, 0


def _undisturbed(folder: Path) -> Path:
    whole = folder / "undisturbed" / "run"
    if run_child(whole):
        raise AssertionError(log_of(whole).read_text())
    return whole


def _continues(run_dir: Path, whole: Path, *, hook: Callable[[], None] | None = None) -> list[str]:
    if run_child(run_dir, hook=hook):
        return [f"does not continue: {log_of(run_dir).read_text()[-1500:]}"]
    return differences(left_by(whole), left_by(run_dir))
