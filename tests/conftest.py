import os
import shutil
import sys
import tempfile
import threading
import tomllib
from functools import cache
from http.server import ThreadingHTTPServer
from pathlib import Path

import jaxtyping
import pytest
from hydra import compose, initialize_config_dir

from tests import checks
from tests.file_server import Files
from tests.tiny import SMALL_CORPUS, SMALL_MODEL

# shapes and types of the rooms that handle tensors are checked while the tests run
CHECKED = ["attention", "model", "decoding", "training", "text.batch"]
jaxtyping.jaxtyped = checks.checked_at_first
HOOK = jaxtyping.install_import_hook([f"seq2seq.{room}" for room in CHECKED], "beartype.beartype")

ROOT = Path(__file__).parents[1]


TINY = [
    "data.train_pairs=120",
    *SMALL_CORPUS,
    *SMALL_MODEL,
    "trainer.max_epochs=2",
    "trainer.log_every=3",
    "optim.warmup_steps=2",
    "tensorboard.heatmaps=2",
    "decoding.beam=1",
]


def pytest_addoption(parser):
    parser.addoption(
        "--all-models", action="store_true", help="every model of the family, not a sample of them"
    )
    parser.addoption(
        "--device", default="cpu", help="where the oracles' opponents compute: cpu or cuda"
    )
    parser.addoption(
        "--real-data",
        metavar="DIR",
        type=Path,
        help="folder that holds multi30k/ and tatoeba/; tests on real corpora are skipped without",
    )


def pytest_configure(config):
    """A cache of their own for all tests, which share it."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="cache of tests ")
        config.add_cleanup(lambda: shutil.rmtree(folder))
        os.environ["XDG_CACHE_HOME"] = folder


LONGEST = (
    "test_sweep.py", "test_torture.py", "test_programs.py", "test_run.py", "test_readme.py",
    "test_training_options.py", "test_process_group.py", "test_endings.py", "test_calls.py",
)  # fmt: skip
"""Files that take long begin first, lest one core waits for them at the end."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_generate_tests(metafunc):
    """The models that a test wants: those of the cover, or one in so many of all that there are."""
    for fixture, one_in in (("covered", 16), ("combination", 401)):
        if fixture not in metafunc.fixturenames:
            continue
        from tests.combinations import cover, every, name_of  # noqa: PLC0415 - after the hook

        found = cover() if fixture == "covered" else every()
        sample = found[one_in // 2 :: one_in]
        wanted = found if metafunc.config.getoption("--all-models") else sample
        metafunc.parametrize(fixture, wanted, ids=name_of)


@pytest.fixture(autouse=True)
def checks_begin_again():
    checks.CALLS.clear()


@pytest.fixture(autouse=True)
def what_tests_add_is_forgotten():
    """By the environment, too, which tells processes that are started later."""
    from seq2seq.registry import ADDED  # noqa: PLC0415 - after the hook

    yield
    for name in [name for name in os.environ if name.startswith(ADDED)]:
        del os.environ[name]


@pytest.fixture
def real_data(request):
    folder = request.config.getoption("--real-data")
    if folder is None:
        pytest.skip("needs --real-data=DIR")
    return folder.resolve()


@pytest.fixture(scope="session")
def grammar():
    from seq2seq.grammar.grammar import load_grammar  # noqa: PLC0415 - after the hook

    return load_grammar(ROOT / "data" / "grammar")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a package of one module on sys.path, the way pip would leave it; returns the module.

    Where there is a folder instead of code, its packages, with all that is in them, are taken.
    """
    modules = []

    def install_package(pyproject, code):
        project = tomllib.loads(pyproject)
        told = project["tool"]["setuptools"]
        (module,) = told.get("py-modules") or told["packages"]
        name, version = project["project"]["name"], project["project"]["version"]
        site = tmp_path / f"site of {name}"
        information = site / f"{name.replace('-', '_')}-{version}.dist-info"
        information.mkdir(parents=True)
        if isinstance(code, Path):
            shutil.copytree(code / module, site / module)
        else:
            (site / f"{module}.py").write_text(code, "utf-8")
        (information / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8"
        )
        lines = []
        for group, entries in project["project"]["entry-points"].items():
            lines += [f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items())]
        (information / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
        sys.modules.pop(module, None)  # other tests have a namesake
        monkeypatch.syspath_prepend(site)
        modules.append(module)
        return module

    yield install_package
    for module in modules:
        sys.modules.pop(module, None)


@pytest.fixture
def install_example(install):
    """Install one of tests/packages."""

    def install_folder(name):
        folder = ROOT / "tests" / "packages" / name
        pyproject = (folder / "pyproject.toml").read_text("utf-8")
        is_module = (folder / f"{name}.py").exists()
        return install(
            pyproject, (folder / f"{name}.py").read_text("utf-8") if is_module else folder
        )

    return install_folder


@pytest.fixture
def install_part(install):
    """The same for a package that brings one part, as in ``name = its_module:part``."""

    def install_package(package, group, entry, code):
        name, value = entry.split(" = ")
        pyproject = [
            f'[project]\nname = "{package}"\nversion = "1.0"',
            f'[project.entry-points."{group}"]\n{name} = "{value}"',
            f'[tool.setuptools]\npy-modules = ["{value.split(":")[0]}"]',
        ]
        return install("\n".join(pyproject), code)

    return install_package


@pytest.fixture
def file_server():
    """A web server on loopback, with the faults that a test gives it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    server.content, server.faults, server.requests = {}, [], []
    server.released = threading.Event()
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@cache
def composed(*overrides):
    """What Hydra makes of overrides, in a fifth of a second."""
    from seq2seq.config import register_schema  # noqa: PLC0415 - after the hook

    register_schema()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("config", overrides=list(overrides))


@pytest.fixture
def configured():
    """Overrides -> the typed configuration, as train.py makes it; each time a new one."""
    from seq2seq.command_line.config_errors import as_config  # noqa: PLC0415 - after the hook

    return lambda *overrides: as_config(composed(*overrides))


@pytest.fixture
def tiny(configured):
    return lambda *overrides: configured(*TINY, *overrides)
