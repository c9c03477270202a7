"""Fixtures of the tests of the packages: applications that are not ours, which know nothing of seq2seq."""

import gc
import importlib
import itertools
import os
import runpy
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import hydra.utils
import pytest

MAIN = 'version_base="1.3"'
"""What applications written for Hydra 1.3 give to ``hydra.main``."""

if hasattr(hydra.utils, "execution_whitelist"):  # from Hydra 1.4 on
    NEW_MAIN = "execution_whitelist=['hydra_plugins.*']"
else:
    NEW_MAIN = MAIN


@dataclass
class Program:
    """An application that was started as a fork of this process, which has Hydra loaded."""

    pid: int
    output: Path
    status: int | None = None

    def wait(self, timeout=300):
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

    @property
    def text(self):
        """What the application has printed so far."""
        return self.output.read_text(errors="replace")


@pytest.fixture
def app(tmp_path, request):
    """Run app.py, the text APP of the test's file, with arguments in its folder, and return the `Program`."""
    for name in ("hydra", "optuna", "scipy.stats", "sqlalchemy.dialects.sqlite", "alembic.command"):
        importlib.import_module(name)
    script, numbers = tmp_path / "app.py", itertools.count()
    script.write_text(request.module.APP.replace(MAIN, NEW_MAIN))

    def launch(*arguments):
        output = tmp_path / f"said {next(numbers)}"
        pid = os.fork()
        if pid:
            return Program(pid, output)
        status = 1
        try:
            gc.freeze()
            os.chdir(tmp_path)
            target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for place, file in enumerate((os.open(os.devnull, os.O_RDONLY), target, target)):
                os.dup2(file, place)
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", buffering=1), open(2, "w", buffering=1)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.argv = [str(script), *map(str, arguments)]
            runpy.run_path(str(script), run_name="__main__")
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def run(*arguments, check=None):
        done = launch(*arguments)
        done.wait()
        if check is not None:
            assert done.status == check, done.text
        return done

    run.launch, run.folder = launch, tmp_path
    return run
