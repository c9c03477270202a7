"""Processes as forks of this one, which has everything loaded, in place of `subprocess`."""

import os
import runpy
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

from hydra.core.global_hydra import GlobalHydra

from tests.torture.victims import start


class Fork:
    """What `subprocess.Popen` starts, for command lines of Python: `[python, program, …]`.

    As there, a child has the standard streams and the descriptors that it is given, and no others.

    Args:
        line: the command line.
        stdin: an open file, or what `subprocess` takes.
        stdout: likewise.
        stderr: likewise.
        env: the environment.
        cwd: the working folder.
        pass_fds: descriptors that are left open.
        start_new_session: whether the terminal's signals do not reach it.
        prepared: is called in the child before the program.
    """

    def __init__(
        self,
        line,
        *,
        stdin=None,
        stdout=None,
        stderr=None,
        env=None,
        cwd=None,
        pass_fds=(),
        start_new_session=False,
        prepared=lambda: None,
    ):
        self.returncode, self.stdin, self._ends, streams = None, None, [], []
        for number, asked in enumerate((stdin, stdout, stderr)):
            streams.append(streams[1] if asked == subprocess.STDOUT else self._end(number, asked))

        def program():
            if start_new_session:
                os.setsid()
            _keep_open(streams, pass_fds)
            if cwd is not None:
                os.chdir(cwd)
            environment = dict(os.environ if env is None else env)
            os.environ.clear()
            os.environ.update(environment)
            GlobalHydra.instance().clear()
            sys.argv = [str(part) for part in line[1:]]
            prepared()
            runpy.run_path(sys.argv[0], run_name="__main__")
            return 0

        begun, held = os.pipe()
        self.pid = start(program, Path(os.devnull))
        for end in (held, *self._ends):
            os.close(end)
        os.read(begun, 1)  # ends when the child has closed what is not its own
        os.close(begun)

    def _end(self, number, asked):
        """The descriptor of a standard stream of the child."""
        if asked is None:
            return number
        if asked == subprocess.PIPE:
            assert number == 0, "what it prints is read from a file"
            reader, writer = os.pipe()
            self.stdin = os.fdopen(writer, "wb")
            self._ends.append(reader)
            return reader
        if asked == subprocess.DEVNULL:
            self._ends.append(os.open(os.devnull, os.O_RDWR))
            return self._ends[-1]
        return asked.fileno()

    def poll(self):
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout=240):
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("a fork", timeout)
            time.sleep(0.01)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


FORKING = SimpleNamespace(**vars(subprocess) | {"Popen": Fork})
"""To be a module's `subprocess`."""


def _keep_open(streams, others):
    """Close all but these descriptors: a lock is kept by whoever has it open."""
    for number, descriptor in enumerate([os.dup(stream) for stream in streams]):
        os.dup2(descriptor, number)
    kept = {0, 1, 2, *others}
    for path in list(Path("/proc/self/fd").iterdir()):
        if int(path.name) not in kept:
            with suppress(OSError):  # that of the listing
                os.close(int(path.name))
