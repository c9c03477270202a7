"""The floors of the house: every room imports only from the floors below it."""

import ast
import re
from collections import defaultdict
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import pytest

from seq2seq.config import Config

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "seq2seq"
MODULES = sorted(SOURCE.rglob("*.py"))
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))
PROGRAMS = [
    ROOT / "train.py",
    *sorted((ROOT / "scripts").glob("*.py")),
    *(path for path in BENCHMARKS if '__name__ == "__main__"' in path.read_text("utf-8")),
]
HYDRA_PLUGIN = ROOT / "src" / "hydra_plugins" / "seq2seq_sweeper.py"
CODE = sorted({*MODULES, *PROGRAMS, *BENCHMARKS, HYDRA_PLUGIN})
CLUSTER = SOURCE / "sweeps" / "cluster.py"
"""The two that Hydra's own plugin mechanism asks for a name and a maker."""

PICTURE = re.search(r"```\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)[1]
FLOORS = {
    room: int(floor)
    for floor, *rooms in map(str.split, PICTURE.splitlines())
    for room in rooms
    if int(floor) < 10  # the programs
}
BLIND = {
    "evaluation": {"model", "decoding"},
    "attention": {"text", "lightning"},
    "text": {"lightning"},
    "model": {"lightning"},
    "grammar": {"torch", "attention"},
    "config": {"torch"},
    "command_line": {"torch", "lightning", "attention", "text", "experiments", "pictures"},
    "storage": {"torch"},
    "pictures": {"torch", "lightning", "tensorboard"},
    "experiments": {"torch", "lightning", "hydra", "omegaconf", "text", "attention"},
}
"""What a room may not see though it is below."""


BESIDE = {("storage", "errors"), ("storage", "plain_text")}
"""A room and another on its own floor that it sees."""


def name_of(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@cache
def imports_of(path):
    """Every module that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rooms_of(path):
    return {name.split(".")[1] for name in imports_of(path) if name.startswith("seq2seq.")}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_room_imports_from_lower_floors_and_itself_only(path):
    room = (*name_of(path).split("."), "")[1]
    if not room:
        return
    for other in rooms_of(path):
        allowed = other == room or FLOORS[other] < FLOORS[room] or (room, other) in BESIDE
        assert allowed, f"{room} imports {other}"
    assert not BLIND.get(room, set()) & (rooms_of(path) | imports_of(path))


def test_no_room_is_over_a_sixth_of_the_source():
    lines = dict.fromkeys(FLOORS, 0)
    for path in MODULES:
        room = (*name_of(path).split("."), "")[1]
        if room:
            lines[room] += len(path.read_text("utf-8").splitlines())
    assert max(lines.values()) <= sum(lines.values()) / 6, lines


@pytest.mark.parametrize("path", [*MODULES, HYDRA_PLUGIN], ids=lambda path: path.stem)
def test_what_is_installed_imports_nothing_that_is_not(path):
    outside = {name.split(".")[0] for name in imports_of(path) if name}
    assert not outside & {"benchmarks", "scripts", "tests", "train"}


def test_no_module_is_part_of_a_cycle():
    graph = {
        name_of(path): {name for name in imports_of(path) if name.startswith("seq2seq.")}
        for path in MODULES
    }
    done, open_path = set(), []

    def visit(name):
        assert name not in open_path, f"cycle: {[*open_path, name]}"
        if name in graph and name not in done:
            open_path.append(name)
            for other in sorted(graph[name]):
                visit(other)
            open_path.pop()
            done.add(name)

    for name in graph:
        visit(name)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*/__init__.py")), ids=name_of)
def test_an_init_is_a_docstring_only(path):
    statements = ast.parse(path.read_text("utf-8")).body
    assert len(statements) == 1
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))


def calls(path, name):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
            yield node


ONLY_IN_STORAGE = {"fsync", "rmtree", "rmdir", "removedirs", "rename", "flock", "mkstemp"}


def places_of(called):
    """Where something is called that only the room `storage` may call."""
    found = set()
    for path in [*MODULES, *PROGRAMS, HYDRA_PLUGIN]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if is_method and called(
                node.func.attr, [*map(ast.unparse, node.args)], node.func.value
            ):
                found.add(name_of(path) if path in MODULES else path.name)
    return {name for name in found if not name.startswith("seq2seq.storage.")}


def test_files_are_flushed_renamed_locked_and_removed_in_one_room():
    def called(name, arguments, owner):
        replaces = name == "replace" and (len(arguments) == 1 or ast.unparse(owner) == "os")
        return name in ONLY_IN_STORAGE or replaces

    # Optuna wants a lock of its own kind
    assert places_of(called) == {"seq2seq.experiments.journal_lock"}


def test_only_what_a_user_names_is_opened_for_writing_elsewhere():
    def called(name, arguments, owner):
        if name == "open":
            return ast.unparse(owner) == "os" or any(set("wax+") & set(mode) for mode in arguments)
        return name in {"write_text", "write_bytes", "truncate", "unlink", "symlink_to", "touch"}

    assert places_of(called) == {
        "document_configuration.py",  # its page
        "alignment.py",  # what an aligner reads, in a temporary folder
        "epoch.py",  # what another program reads, likewise
        "seq2seq.commands.plot",  # the picture that -o names
        "seq2seq.training.checkpoint_io",  # a checkpoint that Lightning no longer wants
        "seq2seq.command_line.printing",  # nowhere
        "seq2seq.command_line.program",  # what --json and -o name
        "seq2seq.runs.process_group",  # nowhere
        "seq2seq.decoding.resumable_output",  # the file that --output names
        "seq2seq.tensorboard.event_log",  # event files of the run
        "seq2seq.text.download",  # a part that is not what it should be
        "seq2seq.commands.textbook",  # the picture that --output names
    }


def test_torch_load_is_called_in_one_place_and_only_for_weights():
    found = {path: list(calls(path, "torch.load")) for path in CODE}
    places = [name_of(path) for path, nodes in found.items() if nodes]
    assert places == ["seq2seq.training.checkpoint_file"]
    for nodes in found.values():
        for node in nodes:
            assert "weights_only=True" in ast.unparse(node)


def test_no_configuration_names_something_to_import():
    for path in (ROOT / "conf").rglob("*.yaml"):
        assert "_target_" not in path.read_text("utf-8"), path
    for path in CODE:
        assert "hydra.utils" not in imports_of(path), path
        assert "instantiate" not in path.read_text("utf-8") or path == CLUSTER, path
        assert " _target_" not in path.read_text("utf-8") or path == HYDRA_PLUGIN, path
    text = CLUSTER.read_text("utf-8")
    assert text.count("instantiate") == text.count("Plugins.instance().instantiate_launcher(") == 1


def test_schema_fields_have_no_default_values():
    def check(schema):
        for described in fields(schema):
            assert described.default is described.default_factory, described.name
            if isinstance(described.type, type) and is_dataclass(described.type):
                check(described.type)

    check(Config)


def test_torchtext_is_imported_in_one_file():
    users = [
        path.name for path in MODULES if any(n.startswith("torchtext") for n in imports_of(path))
    ]
    assert users == ["torchtext_adapter.py"]


def light_imports(path, seen):
    """Modules that load when a module does, imports inside functions left out."""
    if path in seen:
        return set()
    seen.add(path)
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        for name in imports_of_statement(node):
            found.add(name.split(".")[0])
            own = SOURCE.parent / Path(*name.split(".")).with_suffix(".py")
            if own.is_file():
                found |= light_imports(own, seen)
    return found


def imports_of_statement(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


@pytest.mark.parametrize(
    "path", [*PROGRAMS, *(SOURCE / "commands").glob("*.py")], ids=lambda path: path.name
)
def test_programs_refuse_wrong_input_before_anything_heavy_loads(path):
    assert not light_imports(path, set()) & {"torch", "lightning", "torchtext", "tensorboard"}


def functions(node, name):
    """Name and lines of every function below a node, docstrings left out."""
    for child in ast.iter_child_nodes(node):
        inner = f"{name}.{child.name}" if hasattr(child, "name") else name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            body = child.body[1:] if ast.get_docstring(child) else child.body
            yield inner, body[-1].end_lineno - body[0].lineno + 1 if body else 0
        yield from functions(child, inner)


def lengths_of_functions():
    for path in CODE:
        yield from functions(ast.parse(path.read_text("utf-8")), str(path.relative_to(ROOT)))


def test_functions_are_small():
    lengths = list(lengths_of_functions())
    assert sorted(length for _, length in lengths)[len(lengths) // 2] <= 8
    assert not [(name, length) for name, length in lengths if length > 45]


def test_no_function_escapes_its_count():
    written = [node for path in CODE for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    count = sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in written)
    assert len(list(lengths_of_functions())) == count > 1500


def test_files_stay_readable():
    long = {
        str(path.relative_to(ROOT)): lines
        for path in [*CODE, *(ROOT / "src").rglob("*.js")]
        if (lines := len(path.read_text("utf-8").splitlines())) > 250
    }
    schema = "src/seq2seq/config.py"  # a list, to look things up in
    assert long.keys() == {schema}


def test_a_small_module_with_one_user_in_its_room_is_part_of_that_user():
    lines = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    users = {
        name: [name_of(path) for path in MODULES if name in imports_of(path)] for name in lines
    }
    for path in (path for path in MODULES if path.name != "__init__.py"):
        name = name_of(path)
        if lines[name] < 40 and len(users[name]) == 1:
            (user,) = users[name]
            same_room = user.split(".")[1] == name.split(".")[1]
            assert not same_room or lines[name] + lines[user] > 250, f"{name} -> {user}"


def test_no_two_public_classes_have_one_name():
    places = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name_of(path))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_identifiers_use_the_fields_words():
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(node, "id", None) or getattr(node, "arg", None) or ""
            parts = name.split("_") if isinstance(name, str) else []
            assert not {"src", "trg", "tgt"} & set(parts), f"{path}: {name}"
