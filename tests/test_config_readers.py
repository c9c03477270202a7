"""Who reads the configuration, and what the program says of its keys."""

import ast
import re
from collections import defaultdict
from dataclasses import fields, is_dataclass

import pytest

from seq2seq import config as schemas
from seq2seq.command_line.reference import is_section, setting_of
from seq2seq.config import Config
from tests.test_architecture import CODE, ROOT, SOURCE, imports_of, name_of

SCHEMAS = {
    name: schema
    for name, schema in vars(schemas).items()
    if isinstance(schema, type) and is_dataclass(schema)
}
TREES = {path: ast.parse(path.read_text("utf-8")) for path in CODE}
BESIDE_MAKING = {
    "seq2seq.runs.corpus_check",
    "seq2seq.runs.fit",
    "seq2seq.runs.launch",
    "seq2seq.runs.preparation",
    "seq2seq.runs.process_group",
    "seq2seq.runs.rerun",
    "seq2seq.runs.resuming",
    "seq2seq.runs.run",
    "seq2seq.runs.run_folder",
    "seq2seq.runs.run_record",
    "seq2seq.runs.seen_text",
    "seq2seq.runs.start",
    "seq2seq.sweeps.hypothesis",
    "seq2seq.claims.arms",
    "seq2seq.claims.result",
    "seq2seq.sweeps.search_sweep",
    "seq2seq.sweeps.seed_sweep",
    "seq2seq.sweeps.sweep",
    "seq2seq.sweeps.sweep_jobs",
    "seq2seq.sweeps.tuned_sweep",
}
"""What reads fields though it makes no objects of them: where a run lives, whether it goes on, who
takes part. To become fewer."""


def named_schemas(annotation):
    """The schemas that an annotation names, ``| None`` and quotes aside."""
    names = re.findall(r"\w+", ast.unparse(annotation)) if annotation else []
    return {SCHEMAS[name] for name in names if name in SCHEMAS}


def field_of(schema, name):
    """Types of a field of a schema or of those made of it; none where there is no such field."""
    own = {described.type for described in fields(schema) if described.name == name}
    return own.union(*(field_of(special, name) for special in schema.__subclasses__()))


def parts():
    """Attributes and functions that hold or give parts of the configuration: schemas by names."""
    held = defaultdict(set, config={Config})
    for path, tree in TREES.items():
        for node in ast.walk(tree) if path != SOURCE / "config.py" else ():
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                held[node.target.id] |= named_schemas(node.annotation)
            elif isinstance(node, ast.FunctionDef):
                held[node.name] |= named_schemas(node.returns)
    return held


PARTS = parts()


class Reads(ast.NodeVisitor):
    """Leaf fields that a module reads or sets, of whatever holds a part of the configuration."""

    def __init__(self):
        self.known = {"config": {Config}}
        self.found = set()

    def schemas_of(self, node):
        if isinstance(node, ast.Name):
            return self.known.get(node.id, set())
        if isinstance(node, ast.Call):
            called = node.func
            return PARTS.get(getattr(called, "attr", None) or getattr(called, "id", None), set())
        if not isinstance(node, ast.Attribute):
            return set()
        if owners := self.schemas_of(node.value):
            kinds = set().union(*(field_of(owner, node.attr) for owner in owners))
            return {kind for kind in kinds if is_dataclass(kind)}
        return PARTS.get(node.attr.lstrip("_"), set())

    def visit_FunctionDef(self, node):
        outside = self.known
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        given = {each.arg: named_schemas(each.annotation) for each in arguments if each.annotation}
        self.known = outside | given
        self.generic_visit(node)
        self.known = outside

    def visit_Assign(self, node):
        for target in node.targets:
            if isinstance(target, ast.Name) and (kinds := self.schemas_of(node.value)):
                self.known = self.known | {target.id: kinds}
        self.generic_visit(node)

    def visit_Attribute(self, node):
        for owner in self.schemas_of(node.value):
            if any(not is_dataclass(kind) for kind in field_of(owner, node.attr)):
                self.found.add(f"{owner.__name__}.{node.attr}")
        self.generic_visit(node)


def reads(tree):
    visitor = Reads()
    visitor.visit(tree)
    return visitor.found


@pytest.mark.parametrize(
    "code",
    [
        "def f(config): config.seed",
        "def f(given: Config): given.optim.learning_rate",
        "def f(given: 'DataConfig | None'): given.train_pairs",
        "def f(config):\n o = config.optim\n o.learning_rate",
        "def f(self): self._config.seed",
        "def f(x): as_config(x).seed",
        "def f(config): config.name = 'x'",
    ],
)
def test_a_read_is_seen_by_whatever_name(code):
    assert reads(ast.parse(code))


def test_a_section_handed_on_is_no_read():
    assert not reads(ast.parse("def f(config): g(config.optim); config.optim.items()"))


def test_only_making_and_the_modules_listed_read_fields_of_the_configuration():
    readers = {
        name_of(path) for path, tree in TREES.items() if SOURCE in path.parents and reads(tree)
    }
    making = {name for name in readers if name.startswith("seq2seq.runs.making.")}
    assert readers - making - {"seq2seq.config"} == BESIDE_MAKING
    programs = {path for path in CODE if SOURCE not in path.parents and reads(TREES[path])}
    assert not programs


def test_only_five_rooms_know_the_schema():
    users = {
        name_of(path)
        for path in CODE
        if SOURCE in path.parents
        if "seq2seq.config" in imports_of(path)
    }
    rooms = {"claims", "command_line", "commands", "runs", "sweeps"}
    assert {name.split(".")[1] for name in users} == rooms


GROUPS = [path.name for path in (ROOT / "conf").iterdir() if path.is_dir()]
SECTIONS = [described.name for described in fields(Config) if is_dataclass(described.type)]
NAMED_KEY = re.compile(
    rf"(?<![\w./-])(?:{'|'.join(SECTIONS)})(?:\.[a-z_]\w*)+(?<!json|html)(?<!png)(?<!\.md)(?<!safetensors)(?!\w|\()"
)
CHOICE = re.compile(rf"(?<![\w./-])({'|'.join(GROUPS)})=([a-z]\w+)")


DOCUMENTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "conf").rglob("*.yaml")),
]


def texts_of_the_code():
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value


OTHERS_BRING_ITS_KEYS = {"attention.options"}


def unknown_keys(texts):
    named = {(path, key) for path, text in texts for key in NAMED_KEY.findall(text)}
    known = {key for _, key in named if setting_of(key) or is_section(key)} | OTHERS_BRING_ITS_KEYS
    return {(path, key) for path, key in named if key not in known}


def test_keys_that_messages_name_are_there():
    assert not unknown_keys(texts_of_the_code())


def test_choices_that_messages_name_are_there():
    named = {(path, *found) for path, text in texts_of_the_code() for found in CHOICE.findall(text)}
    choices = {(path.parent.name, path.stem) for path in (ROOT / "conf").glob("*/*")}
    assert not {(path, *choice) for path, *choice in named if tuple(choice) not in choices}


def test_keys_that_documents_name_are_there():
    assert not unknown_keys((path, path.read_text("utf-8")) for path in DOCUMENTS)
