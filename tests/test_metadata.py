"""What packages say of themselves: dependencies, versions, addresses."""

import ast
import re
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import seq2seq
from tests.conftest import ROOT

UV = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
FILES = [ROOT / "pyproject.toml", *ROOT.glob("packages/*/pyproject.toml")]
PROJECTS = {path: tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in FILES}
OWN = {project["name"]: project for project in PROJECTS.values()}
PROGRAM = PROJECTS[ROOT / "pyproject.toml"]
IMPORTED_AS = {"hydra-core": "hydra", "pyyaml": "yaml", "bitext-files": "bitext", "hydra-subprocess-launcher": "hydra_plugins",
               "hydra-optuna-racing-sweeper": "hydra_plugins"}  # fmt: skip
BROUGHT = {"PIL", "pydantic", "starlette", "tokenizers"}
"""Modules that matplotlib, fastapi and transformers bring, and that are imported only beside them."""


def requirements(texts):
    return {canonicalize_name(each.name): each for each in map(Requirement, texts)}


def test_the_program_needs_what_contributing_says():
    page = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Dependencies")[1].split("\n## ")[0]
    )
    listed = re.findall(r"^\| ([\w-]+) \| \S", page, re.MULTILINE)[2:]  # without the head
    assert sorted(listed) == sorted(requirements(PROGRAM["dependencies"]))
    for name in listed:
        (row,) = re.findall(rf"^\| {name} \|.*", page, re.MULTILINE)
        brought = requirements(OWN[name]["dependencies"]) if name in OWN else {}
        assert all(each in listed or each in row for each in brought), name


def test_the_program_needs_what_it_imports():
    optional = {name for extra in PROGRAM["optional-dependencies"].values() for name in requirements(extra)}
    needed = {IMPORTED_AS.get(name, name.replace("-", "_")) for name in requirements(PROGRAM["dependencies"])}
    used = set()
    for path in (ROOT / "src/seq2seq").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                used |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                used.add((node.module or "").split(".")[0])
    assert needed - used <= {"tensorboard"}  # PyTorch's writer needs it
    foreign = used - sys.stdlib_module_names - needed - {"seq2seq"}
    assert foreign <= {name.replace("-", "_") for name in optional} | BROUGHT


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_a_package_can_be_published(path):
    project = PROJECTS[path]
    assert {"authors", "keywords", "classifiers", "license", "readme", "requires-python"} <= set(project)
    assert (path.parent / project["readme"]).is_file()
    for name, each in requirements(project["dependencies"]).items():
        if name in OWN:
            assert each.specifier.contains(OWN[name]["version"])


def test_one_version_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.*?)\]", changes, re.MULTILINE)[0] == "Unreleased"
    versions = {project["version"] for project in PROJECTS.values()}
    versions |= {
        re.search(r"^version: (.*)$", citation, re.MULTILINE)[1],
        seq2seq.__version__,
        re.search(r"^## \[(\d.*?)\] - \d{4}-\d\d-\d\d$", changes, re.MULTILINE)[1],
    }
    assert len(versions) == 1


def test_addresses_are_set_in_one_place():
    pages = [*ROOT.glob("*.md"), ROOT / "CITATION.cff", ROOT / "mkdocs.yml", *(ROOT / "docs").rglob("*.md")]
    assert PROGRAM["urls"]
    assert not [page for page in pages if "OWNER" in page.read_text(encoding="utf-8")]


def test_an_extra_with_an_index_of_its_own_is_not_resolved_with_the_others():
    extras = {each["extra"] for source in UV["sources"].values() for each in source if "extra" in each}
    apart = {each["extra"] for group in UV["conflicts"] for each in group}
    assert extras
    assert extras <= apart


def test_constraints_hold_for_every_package_and_name_no_server():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = {canonicalize_name(line.split("==")[0]): line.split("==")[1].split()[0] for line in text.splitlines() if line[0] != "#" and "==" in line}  # fmt: skip
    extras = PROGRAM["optional-dependencies"]
    asked = [*(text for project in PROJECTS.values() for text in project["dependencies"]), *extras["docs"],
             *(text for text in extras["dev"] if "[" not in text.split(">")[0])]  # fmt: skip
    for name, each in requirements(asked).items():
        assert name in OWN or each.specifier.contains(pinned[name], prereleases=True), name
    assert "://" not in text
