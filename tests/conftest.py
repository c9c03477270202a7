"""Options and fixtures of all tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

TINY = (
    "debug=fast",
    "data.max_examples=64",
    "data.batch_size=16",
    "decoding.beam_size=2",
    "callbacks.attention.heatmaps=1",
    "callbacks.attention.sentences=2",
    "callbacks.samples.sentences=2",
    "scheduler.warmup_steps=2",
    "threads=1",
)
"""Overrides that make a run of seconds."""


def pytest_addoption(parser):
    parser.addoption(
        "--real-data",
        metavar="DIR",
        type=Path,
        help="folder that holds multi30k/ and tatoeba/; tests on real corpora are skipped without",
    )


@pytest.fixture(scope="session")
def real_data(request):
    folder = request.config.getoption("--real-data")
    if folder is None:
        pytest.skip("needs real corpora: --real-data=DIR")
    return folder.absolute()


@pytest.fixture(scope="session")
def program():
    """Start train.py with arguments in a folder; returns the finished process."""

    def start(*arguments, cwd, script=ROOT / "train.py", check=None, **environment):
        variables = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "default"} | environment
        done = subprocess.run(
            [sys.executable, str(script), *map(str, arguments)],
            cwd=cwd,
            env=variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if check is not None:
            assert done.returncode == check, done.stdout + done.stderr
        return done

    return start
