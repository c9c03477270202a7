"""Imports run one way, without cycles, and nothing is unpickled or taken from private modules."""

import ast
import re
import sys
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import seq2seq
from benchmarks.rooms import LEVELS, files, imports, room_of, rooms_and_arrows, upward
from tests.mutants import AREAS, MUTANTS

ROOT = Path(__file__).parents[1]
FILES = files()
PACKAGES = {path.name: path / "src" for path in (ROOT / "packages").iterdir() if path.is_dir()}


def test_modules_import_without_cycles():
    names = {name: path for path, name in FILES.items()}
    graph = {}
    for name, path in names.items():
        found = set()
        for node in ast.parse(path.read_text()).body:  # those that run when the module is loaded
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        graph[name] = {
            each for each in found & names.keys() if each != name and not name.startswith(f"{each}.")
        }
    TopologicalSorter(graph).prepare()


def test_rooms_are_few_and_imports_go_down():
    rooms, arrows = rooms_and_arrows()
    assert rooms.keys() - set().union(*LEVELS) == {
        "seq2seq",
        "__main__",
        "tensorboard_attention",
        "bitext",
        "joined_words",
        "lightning_exact_resume",
        "judged_seeds",
    } | {name.replace("-", "_") for name in PACKAGES if name.startswith("hydra")}
    assert not upward(arrows)
    assert len(rooms) <= 21
    assert len(arrows) <= 60, "python -m benchmarks.rooms prints them"
    assert rooms["common"] <= 350


def test_contributing_says_how_large_each_package_is():
    lines, rows = rooms_and_arrows()[0], (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (`.*`) \| ([\d,]+) \|", rows.split("## Packages")[1].split("\n## ")[0], re.MULTILINE
    )
    named = {name.rpartition(".")[2] for names, _ in rows for name in re.findall(r"`([\w.]+)`", names)}
    assert named | {"seq2seq", "__main__"} == lines.keys()
    for names, said in rows:
        found = sum(lines[name.rpartition(".")[2]] for name in re.findall(r"`([\w.]+)`", names))
        assert abs(found - int(said.replace(",", ""))) <= max(150, found / 10), f"{names}: {found:,} lines"


def test_other_rooms_and_distributions_import_what_is_public():
    modules = set(FILES.values())
    faces = {
        name for path, name in FILES.items() if path.name == "__init__.py" and not name.startswith("seq2seq")
    }
    for path, name in FILES.items():
        own = room_of(name, modules)
        for each in imports(path):
            other = room_of(each, modules)
            if other not in (None, own):
                assert not re.search(r"(^|\.)_(?!_)", each), f"{path}: {each} is private"
                face, _, taken = each.rpartition(".")
                if not each.startswith("seq2seq."):  # another distribution: what its package lists
                    assert face in faces, f"{path}: {each}"
                    assert taken in import_module(face).__all__, f"{path}: {each}"


LATER = {"probing.py", "lightning_callback.py", "trainer_callback.py"}
"""Files of the tab that are imported when they are used."""


def test_the_tab_stands_alone():
    for path in PACKAGES["tensorboard-attention"].rglob("*.py"):
        for name in imports(path):
            package = name.split(".")[0]
            assert package != "seq2seq", path
            if path.parent.name != "capturing" and path.name not in LATER:  # imported when they are used
                assert package not in {"torch", "lightning"}, path
    named = [
        line
        for path in (ROOT / "packages" / "tensorboard-attention").rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".pyo"}
        for line in path.read_text(encoding="utf-8").splitlines()
        if "seq2seq" in line.lower()
    ]
    assert ["](../../src/seq2seq/export/tab.py)" in line for line in named] == [True]


@pytest.mark.parametrize(
    ("package", "needed"),
    [
        ("bitext", {"fsspec", "lxml", "polib", "pyarrow", "regex"}),
        ("joined-words", {"regex"}),
        ("judged-seeds", {"numpy", "scipy", "tensorboard"}),
        ("hydra-checked", {"hydra", "omegaconf"}),
        ("lightning-exact-resume", {"lightning", "numpy", "torch"}),
        ("hydra-subprocess-launcher", {"hydra", "omegaconf"}),
        ("hydra-optuna-racing-sweeper", {"hydra", "omegaconf", "optuna", "numpy", "scipy", "sqlalchemy"}),
    ],
)
def test_packages_need_what_they_say(package, needed):
    names = {name for path in PACKAGES[package].rglob("*.py") for name in imports(path)}
    own = {f"hydra_plugins.{each.replace('-', '_')}" for each in PACKAGES}
    plugins = {".".join(name.split(".")[:2]) for name in names if name.startswith("hydra_plugins.")}
    assert plugins <= (own if "sweeper" in package else {"hydra_plugins.hydra_subprocess_launcher"})
    module = "hydra_plugins" if plugins else package.replace("-", "_")
    assert {name.split(".")[0] for name in names} - sys.stdlib_module_names == needed | {module}


def test_checkpoints_and_models_are_read_without_pickle():
    for path in FILES:
        text = path.read_text()
        assert "pickle.load" not in text, path
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "torch.load":
                keywords = {each.arg: ast.unparse(each.value) for each in call.keywords}
                assert keywords.get("weights_only") == "True", path


def test_only_public_modules_of_libraries():
    private = re.compile(r"hydra\._internal|lightning\.[a-z.]*\._|tensorboard\.[a-z.]*\._")
    for path in FILES:
        assert not private.search(path.read_text()), path


def test_the_text_of_each_mutant_stands_once_in_its_file():
    for name, places in MUTANTS.items():
        text = (ROOT / "src/seq2seq" / name).read_text(encoding="utf-8")
        assert name.split("/")[0] in AREAS
        assert not [old for old, _ in places if text.count(old) != 1], name


def test_the_run_is_read_on_a_screen():
    tree = ast.parse((ROOT / "src/seq2seq/run/run.py").read_text())
    (run,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "run")
    assert run.end_lineno - run.lineno < 60


def test_no_files_of_a_room_import_each_other_in_a_circle():
    known, modules = set(), set(FILES.values())
    graph = {
        name: {module_of(each, modules) for each in imports(path)} - {name} for path, name in FILES.items()
    }
    for name in graph:
        reached, new = set(), {name}
        while new := {other for each in new for other in graph[each] if other} - reached:
            reached |= new
        if name in reached:
            known.add(name)
    assert not known


def module_of(name, modules):
    """The module that an import is of; None: it is no part of the source."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


MAX_CALLED = 65
"""Files whose functions a default training calls, from its configuration to its scores."""


@pytest.mark.long
def test_a_default_training_calls_few_files_and_no_study(tmp_path, monkeypatch):
    called, source = set(), str(ROOT / "src/seq2seq")

    def is_import(frame):
        return frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(source)

    def note(frame, event, _):
        code, above = frame.f_code, frame
        if code not in called and code.co_filename.startswith(source):
            while above is not None and not is_import(above):
                above = above.f_back
            called.update([code] if above is None else [])

    monkeypatch.chdir(tmp_path)
    before = sys.gettrace()
    sys.settrace(note)  # which is called for Python's functions alone
    try:
        seq2seq.train("data.max_examples=32", "data.batch_size=16", "trainer.max_epochs=1", "device=cpu")
    finally:
        sys.settrace(before)
    files = {Path(code.co_filename).relative_to(source).as_posix() for code in called}
    assert {"training/module.py", "decoding/effect.py", "decoding/search.py"} <= files
    assert len(files) <= MAX_CALLED, sorted(files)
