"""Imports run one way, without cycles, and nothing is unpickled or taken from private modules."""

import ast
import re
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
PACKAGES = {path.name: path / "src" for path in (SOURCE.parent / "packages").iterdir() if path.is_dir()}

FILES = {path: root for root in (SOURCE, *PACKAGES.values()) for path in root.rglob("*.py")}
LEVELS = [
    {"errors"},
    {"common", "attention"},
    {"data"},
    {"models", "evaluation"},
    {"decoding", "visualization"},
    {"training", "export"},
    {"serving", "run"},
    {"api", "cli"},
]
"""Packages of seq2seq: each imports from those above it in this list, and from itself."""


def imports(path):
    """Return the names of modules that a file imports at any depth of its code."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def module_name(path):
    parts = path.relative_to(FILES[path]).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_modules_import_without_cycles():
    names = {module_name(path): path for path in FILES}
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


def test_packages_import_only_from_those_above_them():
    level = {name: place for place, names in enumerate(LEVELS) for name in names}
    for path in (SOURCE / "seq2seq").rglob("*.py"):
        own = module_name(path).split(".")[1:2]
        for name in imports(path):
            other = name.split(".")[1:2] if name.startswith("seq2seq.") else []
            if own and other and own != other and own[0] in level:
                assert level.get(other[0], -1) < level[own[0]], f"{path} imports {name}"


def test_the_tab_stands_alone():
    for path in PACKAGES["tensorboard-attention"].rglob("*.py"):
        for name in imports(path):
            package = name.split(".")[0]
            assert package != "seq2seq", path
            if path.name not in {"capturing.py", "lightning_callback.py"}:  # imported when they are used
                assert package not in {"torch", "lightning"}, path


@pytest.mark.parametrize(
    ("package", "needed"),
    [
        ("hydra-subprocess-launcher", {"hydra", "omegaconf"}),
        ("hydra-optuna-racing-sweeper", {"hydra", "omegaconf", "optuna", "numpy", "scipy"}),
    ],
)
def test_launcher_and_sweeper_need_what_they_say(package, needed):
    names = {name for path in PACKAGES[package].rglob("*.py") for name in imports(path)}
    own = {f"hydra_plugins.{each.replace('-', '_')}" for each in PACKAGES}
    plugins = {".".join(name.split(".")[:2]) for name in names if name.startswith("hydra_plugins.")}
    assert plugins <= (own if "sweeper" in package else {"hydra_plugins.hydra_subprocess_launcher"})
    assert {name.split(".")[0] for name in names} - sys.stdlib_module_names == needed | {"hydra_plugins"}


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
