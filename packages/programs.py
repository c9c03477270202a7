"""Programs that tests start as forks of their process, which has the libraries loaded."""

import csv
import gc
import os
import runpy
import signal
import sys
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hydra.utils
import pytest
from hydra.core.global_hydra import GlobalHydra

os.environ["OMP_NUM_THREADS"] = "1"  # a fork has one thread, and OpenMP would wait for the others without end

HYDRA_13 = 'version_base="1.3"'
"""What applications written for Hydra 1.3 give to ``hydra.main``."""

MAIN = "execution_whitelist=['hydra_plugins.*']" if hasattr(hydra.utils, "execution_whitelist") else HYDRA_13
"""What a Hydra application that is not ours gives to ``hydra.main``; from Hydra 1.4 on, the objects that it allows."""


@dataclass
class Program:
    """A program that was started as a fork of this process."""

    pid: int
    output: Path
    status: int | None = None

    def wait(self, timeout=120):
        """Return the exit status; a signal n gives -n, as `subprocess` has it."""
        end = time.monotonic() + timeout
        while self.status is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                pytest.fail(f"no end after {timeout} s: {self.text}")
            else:
                time.sleep(0.005)
        return self.status

    def send(self, number):
        """Send a signal unless the program has ended."""
        if self.status is None:
            os.kill(self.pid, number)

    @property
    def text(self):
        """What the program has printed so far, on both streams."""
        return self.output.read_text(errors="replace")


def fork(script, arguments, output, *, cwd, stdin=None, prepare=None, **environment):
    """Start a script with arguments in a folder; return the `Program`, which writes both streams into a file."""
    pid = os.fork()
    if pid:
        return Program(pid, output)
    status = 1
    try:
        gc.freeze()  # else it copies the pages of this process: a third of the time of a short run
        os.chdir(cwd)
        target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for place, file in enumerate((os.open(stdin or os.devnull, os.O_RDONLY), target, target)):
            os.dup2(file, place)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", buffering=1), open(2, "w", buffering=1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.environ |= environment
        # TensorBoard reads the files of a second in the order of their numbers as text: 10 before 9
        if (writer := sys.modules.get("tensorboard.summary.writer.event_file_writer")) is not None:
            writer._global_uid = writer.AtomicCounter(0)
        GlobalHydra.instance().clear()
        sys.argv = [str(script), *map(str, arguments)]
        if prepare is not None:
            prepare()
        runpy.run_path(str(script), run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(status)


def jobs_of(folder):
    """Ids of the processes of the jobs that work in a folder."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{name}/cmdline").read_text()
        except OSError:
            continue
        if f"hydra.run.dir='{folder}/" in line:
            found.append(int(name))
    return found


def rows(path):
    """Rows of a table of results."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@contextmanager
def study_of(folder):
    """Open Optuna's study of the search in a folder, and close its database."""
    from optuna import create_study
    from optuna.storages import RDBStorage

    storage = RDBStorage(f"sqlite:///{folder}/out/optuna.db")
    try:
        yield create_study(study_name="app", storage=storage, load_if_exists=True)
    finally:
        storage.remove_session()
        storage.engine.dispose()
