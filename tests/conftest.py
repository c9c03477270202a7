"""Options and fixtures of all tests."""

import gc
import json
import os
import runpy
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import hydra.utils
import pytest

ROOT = Path(__file__).parents[1]

TINY = (
    "debug=fast", "name=debug_fast", "data.max_examples=32", "data.batch_size=8", "decoding.beam_size=2", "decoding.max_ratio=1",
    "callbacks.attention.heatmaps=1", "callbacks.attention.sentences=2",
    "callbacks.attention.every_n_steps=null", "callbacks.samples.sentences=2", "scheduler.warmup_steps=2",
    "threads=1",
)  # fmt: skip
"""Overrides that make a run of a second."""

MAIN = (
    "execution_whitelist=['hydra_plugins.*']"
    if hasattr(hydra.utils, "execution_whitelist")
    else "version_base='1.3'"
)
"""What a Hydra application that is not ours gives to ``hydra.main``; from Hydra 1.4 on, the objects that it allows."""


def pytest_addoption(parser):
    parser.addoption(
        "--real-data",
        metavar="DIR",
        type=Path,
        help="folder that holds multi30k/ and tatoeba/; tests on real corpora are skipped without",
    )


def pytest_collection_modifyitems(items):
    """Put the files whose tests start programs first: they take longest."""
    first = {item.path for item in items if "launch" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path not in first)


def pytest_collection_finish():
    """Have the garbage collector pass over the objects of the libraries."""
    gc.freeze()


@pytest.fixture(scope="session")
def real_data(request):
    folder = request.config.getoption("--real-data")
    if folder is None:
        pytest.skip("needs real corpora: --real-data=DIR")
    return folder.absolute()


@dataclass
class Program:
    """A program of the repository that was started as a fork of this process, which has torch loaded."""

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


def import_what_programs_import():
    """Load the libraries of a training into this process, which its forks then have."""
    import torch.utils.tensorboard  # noqa: F401
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    import seq2seq.run.procedure
    import seq2seq.training  # noqa: F401
    from seq2seq.evaluation import scores_of
    from seq2seq.run.config import HYDRA_BASE
    from seq2seq.visualization import heatmap  # noqa: F401

    scores_of(["a"], ["a"], "fr")  # sacreBLEU and sacremoses, whose expressions take a second to compile
    with initialize_config_dir(str(ROOT / "conf"), **HYDRA_BASE):
        compose("config")
    GlobalHydra.instance().clear()


@pytest.fixture(scope="session")
def launch():
    """Start a program of the repository with arguments, in a folder; returns a `Program`."""
    import_what_programs_import()
    folder = Path(tempfile.mkdtemp(prefix="programs "))
    numbers = iter(range(10**9))

    def start(*arguments, cwd, script="train.py", command=None, stdin=None, prepare=None, **environment):
        if command is not None:
            script, arguments = "src/seq2seq/__main__.py", (*command.split(), *arguments)
        output = folder / f"{next(numbers)}.txt"
        pid = os.fork()
        if pid:
            return Program(pid, output)
        status = 1
        try:
            gc.freeze()  # else it copies the pages of this process: a third of the time of a short run
            os.chdir(cwd)
            target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(target, 1)
            os.dup2(target, 2)
            os.dup2(os.open(os.devnull if stdin is None else stdin, os.O_RDONLY), 0)
            sys.stdin, sys.stdout, sys.stderr = (
                os.fdopen(0, "r"), os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
            )  # fmt: skip
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(
                    number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
                )
            os.environ |= {"OMP_NUM_THREADS": "1"} | environment
            from hydra.core.global_hydra import GlobalHydra

            GlobalHydra.instance().clear()
            path = Path(script) if Path(script).is_absolute() else ROOT / script
            sys.argv = [str(path), *map(str, arguments)]
            if prepare is not None:
                prepare()
            runpy.run_path(str(path), run_name="__main__")
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except KeyboardInterrupt:
            status = 130
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    return start


@pytest.fixture(scope="session")
def program(launch):
    """Run a program to its end; returns it, with `status` and `text`."""

    def run(*arguments, check=None, timeout=120, **options):
        started = launch(*arguments, **options)
        started.wait(timeout)
        if check is not None:
            assert started.status == check, started.text
        return started

    return run


@pytest.fixture(scope="session")
def tiny_run(program, tmp_path_factory):
    """The folder of a finished run of seconds."""
    folder = tmp_path_factory.mktemp("a tiny run")
    program(*TINY, "trainer.max_epochs=2", "seed=3", cwd=folder, check=0)
    return folder / "runs" / "baseline" / "debug_fast"


@pytest.fixture(scope="session")
def wordy_run(tiny_run, tmp_path_factory):
    """A copy of `tiny_run` whose translations are never blank: they are at least as long as the source."""
    folder = shutil.copytree(tiny_run, tmp_path_factory.mktemp("a wordy run") / "debug_fast")
    path = folder / "model" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["limits"]["min_ratio"] = 1.0
    path.write_text(json.dumps(config), encoding="utf-8")
    return folder
