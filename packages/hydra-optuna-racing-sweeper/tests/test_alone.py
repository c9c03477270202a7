"""The applications and commands of the READMEs, with the two packages and what they need installed, and nothing else."""

import re
import shlex
import subprocess
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from packages.programs import HYDRA_13, MAIN

PACKAGES = Path(__file__).parents[2]
LAUNCHER, SWEEPER = PACKAGES / "hydra-subprocess-launcher", PACKAGES / "hydra-optuna-racing-sweeper"


def needed():
    """Names of the distributions that the two packages need, and those that these need."""
    found, todo = set(), []
    for package in (LAUNCHER, SWEEPER):
        todo += tomllib.loads((package / "pyproject.toml").read_text())["project"]["dependencies"]
    while todo:
        requirement = Requirement(todo.pop())
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        name = canonicalize_name(requirement.name)
        if wanted and name not in found | {LAUNCHER.name}:
            found.add(name)
            todo += distribution(requirement.name).requires or []
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Python of an environment that has what is needed, as links, and the two packages."""
    folder = tmp_path_factory.mktemp("alone")
    links = folder / "links"
    links.mkdir()
    for name in needed():
        files = distribution(name).files
        for part in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            (links / part).symlink_to(files[0].locate().parents[len(files[0].parts) - 1] / part)
    venv.create(folder / "environment", symlinks=True)
    (site,) = (folder / "environment").glob("lib/python*/site-packages")
    (site / "needed.pth").write_text("\n".join(map(str, (links, LAUNCHER / "src", SWEEPER / "src"))))
    return folder / "environment" / "bin" / "python"


def run(python, folder, *words):
    done = subprocess.run([python, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commands_of(package, folder):
    """Write the application of a README, and return its commands."""
    text = (package / "README.md").read_text(encoding="utf-8")
    application = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    (folder / "app.py").write_text(application.replace(HYDRA_13, MAIN))
    return [shlex.split(line)[1:] for line in re.findall(r"^python .*", text, re.MULTILINE)]


def test_nothing_else_is_there(python, tmp_path):
    code = (
        "import importlib.util as u; print([n for n in ('seq2seq', 'torch', 'filelock') if u.find_spec(n)])"
    )
    assert run(python, tmp_path, "-c", code) == "[]\n"


@pytest.mark.long
def test_the_readme_of_the_launcher(python, tmp_path):
    waiting, background = commands_of(LAUNCHER, tmp_path)
    assert run(python, tmp_path, *waiting).count("completed") == 3
    collected = run(python, tmp_path, *background)
    assert collected.count("completed") == 3
    assert "started" not in collected


@pytest.mark.long
def test_the_readme_of_the_sweeper_races_prunes_and_resumes(python, tmp_path):
    (search,) = commands_of(SWEEPER, tmp_path)
    half = run(python, tmp_path, *(re.sub("n_trials=.*", "n_trials=3", word) for word in search))
    whole = run(python, tmp_path, *search)
    assert "\njob 2  x=" in half
    assert "with 3 seeds" in whole
    assert "pruned" in whole
    again = run(python, tmp_path, *search)
    assert "\njob " not in f"\n{again}"
    assert again.splitlines()[-2:] == whole.splitlines()[-2:]
