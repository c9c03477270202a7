"""Starts sweeps of stub jobs."""

import contextlib
import io
import os
import runpy
import subprocess
import sys
from pathlib import Path
from unittest import mock

from hydra.core.global_hydra import GlobalHydra

from seq2seq.experiments import processes
from seq2seq.experiments.ledger import read_ledger
from seq2seq.runs import launch
from seq2seq.sweeps import sweep
from tests.forks import FORKING, Fork

STUB = Path(__file__).with_name("stub_train.py")
PROGRAM = Path(__file__).parents[1] / "train.py"
SOURCE = Path(__file__).parents[1] / "src"


def start_sweep(runs_dir, *overrides, **popen):
    """A driver in the background, started as a user does."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True} | popen
    return subprocess.Popen(_line(runs_dir, overrides), env=environment, cwd=runs_dir, **pipes)


class ForkedDriver(Fork):
    """A driver in the background, and its jobs, as forks of this process."""

    def __init__(self, runs_dir, *overrides):
        self._said = runs_dir / f"{id(self)}.out"
        with self._said.open("w") as said:
            super().__init__(
                _line(runs_dir, overrides),
                stdout=said,
                stderr=subprocess.STDOUT,
                cwd=runs_dir,
                prepared=fork_jobs,
            )

    def said(self):
        """Wait for its end; returns what it has printed."""
        self.wait()
        return self._said.read_text()


def fork_jobs():
    """In the process of a driver: its jobs, and their processes, are forks."""
    processes.subprocess = launch.subprocess = FORKING


def _line(runs_dir, overrides):
    return [sys.executable, str(STUB), "-m", f"runs_dir={runs_dir}", *overrides]


def run_sweep(runs_dir, *overrides, forked=True):
    """A driver to its end, in this process: exit status and what it printed.

    Args:
        runs_dir: folder of its runs.
        overrides: and options of the command line.
        forked: whether the jobs are forks, instead of started as those of a user are.
    """
    printed = io.StringIO()
    options = [each for each in overrides if each.startswith("-")]
    others = [each for each in overrides if each not in options]
    arguments = ["train.py", "-m", *options, f"runs_dir={runs_dir}", *others]
    module = FORKING if forked else subprocess
    with (
        mock.patch.object(sys, "argv", arguments),
        mock.patch.object(sweep, "own_command", return_value=[sys.executable, str(STUB)]),
        mock.patch.object(processes, "subprocess", module),
        mock.patch.object(launch, "subprocess", module),
        mock.patch.dict(os.environ, {"PYTHONPATH": str(SOURCE)}),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        try:
            runpy.run_path(str(PROGRAM), run_name="__main__")
        except SystemExit as ended:
            return ended.code, printed.getvalue()
        finally:
            GlobalHydra.instance().clear()
    raise AssertionError("train.py has not ended")


def folders_of(runs_dir):
    """Run folders by name."""
    return {path.parent.name: path.parent for path in runs_dir.glob("*/*/ledger.json")}


def ledgers_of(runs_dir):
    """Records by name of the run."""
    return {name: read_ledger(folder) for name, folder in folders_of(runs_dir).items()}


def ends_of(folder):
    """What a stub job left each time that it came to its end."""
    path = folder / "ends.txt"
    return path.read_text().splitlines() if path.is_file() else []
