"""Options and fixtures of all tests."""

import gc
import json
import lzma
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from packages.programs import MAIN, Program, fork  # noqa: F401 - tests take two of them from here

ROOT = Path(__file__).parents[1]

TINY = (
    "debug=fast", "experiment_name=baseline", "name=debug_fast", "data.max_examples=32", "data.batch_size=8", "decoding.beam_size=2", "decoding.max_ratio=1",
    "callbacks.attention.heatmaps=0", "callbacks.attention.sentences=2",
    "callbacks.attention.every_n_steps=null", "callbacks.samples.sentences=2", "scheduler.warmup_steps=2",
    "threads=1",
)  # fmt: skip
"""Overrides that make a run of a second."""


def pytest_addoption(parser):
    parser.addoption(
        "--real-data",
        metavar="DIR",
        type=Path,
        help="folder that holds multi30k/ and tatoeba/; tests on real corpora are skipped without",
    )
    parser.addoption("--notebooks", action="store_true", help="run the notebooks, too, which takes minutes")
    parser.addoption(
        "--minutes",
        metavar="N",
        type=float,
        help="run a selection that the commit draws: as many tests as begin within so many minutes",
    )


def pytest_collection_modifyitems(config, items):
    """Put the files whose tests start programs first: they take longest; with ``--minutes``, draw the order."""
    first = {item.path for item in items if "launch" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path not in first)
    if config.getoption("--minutes"):
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False)
        random.Random(commit.stdout).shuffle(items)


STARTED = time.monotonic()


def pytest_runtest_setup(item):
    """Skip what the time of ``--minutes`` is over for."""
    minutes = item.config.getoption("--minutes")
    if minutes and time.monotonic() - STARTED > 60 * minutes:
        pytest.skip("the time of --minutes is over")


def pytest_collection_finish():
    """Have the garbage collector pass over the objects of the libraries."""
    gc.freeze()


@pytest.fixture(scope="session")
def real_data(request):
    folder = request.config.getoption("--real-data")
    if folder is None:
        pytest.skip("needs real corpora: --real-data=DIR")
    return folder.absolute()


def import_what_programs_import():
    """Load the libraries of a training into this process, which its forks then have."""
    import torch.utils.tensorboard  # noqa: F401
    import torchtext.vocab  # noqa: F401
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    import seq2seq.run.run
    import seq2seq.training  # noqa: F401
    from hydra_checked.program import HYDRA_BASE
    from seq2seq.evaluation import scores_of
    from tensorboard_attention import pictures  # noqa: F401

    scores_of(["a"], ["a"], "fr")  # sacreBLEU and sacremoses, whose expressions take a second to compile
    with initialize_config_dir(str(ROOT / "conf"), **HYDRA_BASE):
        compose("config")
    GlobalHydra.instance().clear()


@pytest.fixture(scope="session")
def built_in(tmp_path_factory):
    """Path of a built-in corpus by its name, with the first lines of each split, of which `debug=fast` reads 256."""
    folder = tmp_path_factory.mktemp("corpora")
    for name in ("everyday", "grammar"):
        counts, kept = Counter(), []
        for line in lzma.open(ROOT / f"data/{name}/corpus.tsv.xz", "rt", encoding="utf-8"):
            split = line.partition("\t")[0]
            counts[split] += 1
            kept += [line] if counts[split] <= 256 else []
        (folder / name).write_text("".join(kept), encoding="utf-8")
    return folder.joinpath


@pytest.fixture
def short_corpora(built_in, monkeypatch):
    """What this process trains on has the beginnings of the built-in corpora, which are read in no time."""
    from seq2seq.data.corpora import split_file

    monkeypatch.setattr(split_file, "built_in", built_in)


@pytest.fixture(scope="session")
def launch(built_in):
    """Start a program of the repository with arguments, in a folder; returns a `Program`."""
    import_what_programs_import()
    folder = Path(tempfile.mkdtemp(prefix="programs "))
    numbers = iter(range(10**9))

    def prepared(prepare):
        """Return what a program of a tiny run does first: its corpora are short, which take a fifth of its time."""
        from seq2seq.data.corpora import split_file

        def first():
            split_file.built_in = built_in
            if prepare is not None:
                prepare()

        return first

    def start(*arguments, cwd, script="train.py", command=None, stdin=None, prepare=None, **environment):
        if command is not None:
            script, arguments = "src/seq2seq/__main__.py", (*command.split(), *arguments)
        path = Path(script) if Path(script).is_absolute() else ROOT / script
        is_short = any(
            re.fullmatch(r"debug=fast|data\.max_examples=\d{1,2}", str(each)) for each in arguments
        )
        prepare = prepared(prepare) if is_short else prepare
        output = folder / f"{next(numbers)}.txt"
        return fork(path, arguments, output, cwd=cwd, stdin=stdin, prepare=prepare, **environment)

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
    program(*TINY, "trainer.max_epochs=2", "seed=3", "callbacks.attention.heatmaps=1", cwd=folder, check=0)
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
