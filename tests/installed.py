"""Install what ``make dist`` builds and use it outside of the clone: python -m tests.installed dist

The wheels, and the source archives, are installed into an environment of their own, which sees the libraries of this
one, and the command ``seq2seq`` is used in an empty folder with a blank in its path. The wheels of the Attention tab, of the
readers of files, of words and seeds, and those of the launcher and the sweeper, are installed alone, with what they depend on, into empty environments.
"""

import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.conftest import TINY

ATTENTION = """
import sys
import numpy as np
from tensorboard_attention import add_attention, export_html
source, target = "the cat sleeps".split(), "le chat dort".split()
for step in range(5):
    scores = step * np.eye(3) + np.random.default_rng(step).normal(size=(3, 4, 3, 3))
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    add_attention("runs", "sentence 1", weights, source, target, step, kind="cross-attention")
open("page.html", "w", encoding="utf-8").write(export_html("runs"))
print(sorted(sys.modules.keys() & {"torch", "tensorflow", "lightning", "seq2seq"}))
"""
"""Writes three layers of four heads with NumPy."""

SERVE = """
import json
from tensorboard import program
from urllib.request import urlopen
served = program.TensorBoard()
served.configure(argv=[None, "--logdir", "runs", "--host", "127.0.0.1", "--port", "0", "--load_fast=false"])
url = served.launch() + "data/plugin/attention"
runs = []
while not runs:
    runs = json.load(urlopen(f"{url}/index"))["runs"]
view = json.load(urlopen(f"{url}/view?run=.&tag=sentence%201/cross-attention"))
print(len(view["frames"]), view["frames"][-1]["maps"], "mount" in urlopen(f"{url}/viewer.js").read().decode())
"""


SEARCH = """
app.py -m hydra/sweeper=optuna hydra/launcher=subprocess hydra.sweep.dir=search hydra.sweeper.n_trials=8
hydra.sweeper.seeds=3 hydra/sweeper/pruner=median x=interval(0,5)
"""
"""Command of the README of the sweeper."""


def installed_alone(wheels: Sequence[Path], folder: Path) -> tuple[Callable[..., str], Path]:
    """Install wheels into an empty environment; return a function that runs its Python, and the folder it works in."""
    environment, here = folder / "environment", folder / "an empty folder"
    here.mkdir()
    venv.create(environment, symlinks=True, with_pip=True)
    python = environment / "bin" / "python"
    constraints = Path(__file__).parents[1] / "constraints.txt"
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def do(*arguments: str) -> str:
        done = subprocess.run(
            [python, *arguments], cwd=here, env=variables, text=True, check=False, timeout=600,
            capture_output=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{arguments}: {done.stdout}\n{done.stderr}"
        return done.stdout

    do("-m", "pip", "install", "--quiet", "--constraint", str(constraints), *map(str, wheels))
    packages = do("-m", "pip", "list", "--format=freeze").lower()
    for wheel in wheels:
        assert wheel.name.split("-")[0] in packages.replace("-", "_"), packages
    assert not {"torch", "tensorflow", "lightning", "seq2seq"} & set(re.findall(r"^\w+", packages, re.M)), (
        packages
    )
    print(packages)
    return do, here


def try_tab_alone(wheel: Path, folder: Path) -> None:
    """Write attention with the wheel of the tab, and have TensorBoard serve it."""
    do, here = installed_alone([wheel], folder)
    assert do("-c", ATTENTION) == "[]\n"
    assert "Content-Security-Policy" in (here / "page.html").read_text(encoding="utf-8")
    assert do("-c", SERVE) == "5 [3, 4] True\n"


def try_files_alone(wheel: Path, folder: Path) -> None:
    """Convert a catalog with the wheel of the readers, as its README does."""
    do, here = installed_alone([wheel], folder)
    (here / "app.po").write_text('msgid "Open"\nmsgstr "Ouvrir"\n')
    do("-m", "bitext", "convert", "app.po", "pairs.tsv")
    assert (here / "pairs.tsv").read_text() == "Open\tOuvrir\n"


def try_words_and_seeds_alone(words: Path, seeds: Path, folder: Path) -> None:
    """Split and join words with the wheel of the one package, and judge a table with that of the other."""
    do, here = installed_alone([words, seeds], folder)
    code = "from joined_words import *; print(join_with_joints(split_with_joints('Press Ctrl+V (twice).')))"
    assert do("-c", code) == "Press Ctrl+V (twice).\n"
    for name, more in (("before", 0.5), ("after", 0.0)):
        rows = "".join(f"{seed},{more + seed / 100 + seed % 2 / 50}\n" for seed in range(1, 7))
        (here / f"{name}.csv").write_text(f"seed,loss\n{rows}".replace("0.05\n", "0.06\n"))
    said = do("-m", "judged_seeds", "before.csv", "after.csv", "--metric", "loss", "--direction", "min")
    assert said.startswith("better: loss -0.49"), said


def try_plugins_alone(launcher: Path, sweeper: Path, folder: Path) -> None:
    """Search with the wheels of the launcher and the sweeper as the README of the sweeper does, twice."""
    do, here = installed_alone([launcher, sweeper], folder)
    readme = Path(__file__).parents[1] / "packages/hydra-optuna-racing-sweeper/README.md"
    text = readme.read_text(encoding="utf-8")
    (here / "app.py").write_text(text.split("```python\n")[1].split("```")[0])
    assert f"python {' '.join(SEARCH.split())}" in text.replace("'", "")
    found = do(*SEARCH.split())
    assert "with 3 seeds" in found, found
    again = do(*SEARCH.split())
    assert "\njob " not in f"\n{again}", again
    assert found.splitlines()[-2:] == again.splitlines()[-2:], again


def try_archives(archives: Sequence[Path], folder: Path) -> None:
    """Install archives together and run the commands; raises AssertionError for one that fails."""
    environment, here = folder / "environment", folder / "an empty folder"
    here.mkdir()
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    (site,) = environment.glob("lib/python*/site-packages")
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    own = str(Path(__file__).parents[1])
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, *map(str, archives)], check=True)
    (site / "libraries.pth").write_text("\n".join(libraries))
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables["PATH"] = f"{python.parent}:{os.environ['PATH']}"

    def do(line: str, *arguments: str, status: int = 0) -> str:
        print(f"$ {line}", flush=True)
        done = subprocess.run(
            [*line.split(), *arguments], cwd=here, env=variables, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == status, f"{line}: status {done.returncode}\n{done.stdout}"
        assert "Traceback" not in done.stdout, done.stdout
        return done.stdout

    where = do("python -c", "import seq2seq, tensorboard_attention as t; print(seq2seq.__file__, t.__file__)")
    assert own not in where, where
    assert str(environment) in where, where
    assert "translate" in do("seq2seq --help")
    do("seq2seq --version")
    assert "did you mean seed?" in do("seq2seq train seeed=1", status=2)
    assert "attention: additive" in do("seq2seq train --help")

    (here / "one.txt").write_text("The red cat sees it.\n")
    assert do("seq2seq translate grammar-en-fr --source one.txt") == "Le chat rouge le voit.\n"
    do("seq2seq show grammar-en-fr", "The red cat sees it.")
    do("seq2seq demo")
    for name in ("attention.html", "demo.html", "demo.png"):
        assert (here / name).exists(), name
    typed = "from pathlib import Path; import seq2seq; print((Path(seq2seq.__file__).parent / 'py.typed').exists())"
    assert do("python -c", typed) == "True\n"

    assert "38,626" in do("seq2seq data-report")
    tiny = [*TINY, "data=grammar", "device=cpu"]
    said = do("seq2seq train", *tiny)
    run = "runs/baseline/debug_fast"
    assert f"seq2seq translate {run}" in said, said
    (here / "sentences.txt").write_text("I see it.\nThe cat sleeps.\n")
    do(f"seq2seq translate {run} --source sentences.txt --output out.txt")
    assert (here / "out.txt").read_text().count("\n") == 2
    assert "BLEU" in do(
        f"seq2seq evaluate {run} --source sentences.txt --reference sentences.txt --beam-size 2"
    )
    do(f"seq2seq align {run} --source sentences.txt --target sentences.txt")
    do(f"seq2seq plot {run} -o picture.png", "I see it.")
    for kind, output in (("attention", "page.html"), ("page", "translating.html"), ("onnx", "onnx")):
        do(f"seq2seq export {kind} {run} -o {output}")
        assert (here / output).exists()
    do("seq2seq train -m", *tiny, "name=swept-${seed}", "seed=1,2")
    assert len(list((here / "runs/baseline").glob("swept-*/metrics.json"))) == 2
    found = "from importlib.metadata import entry_points; print(entry_points(group='tensorboard_plugins'))"
    assert "tensorboard_attention.plugin:AttentionLoader" in do("python -c", found)


def main() -> None:
    """Try the archives of a folder."""
    dist = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as folder:
        try_tab_alone(*dist.glob("tensorboard_attention-*.whl"), Path(folder))
    print("the tab alone works")
    with tempfile.TemporaryDirectory() as folder:
        try_files_alone(*dist.glob("bitext_files-*.whl"), Path(folder))
    print("the readers of files alone work")
    with tempfile.TemporaryDirectory() as folder:
        names = ("joined_words", "judged_seeds")
        try_words_and_seeds_alone(
            *(path for name in names for path in dist.glob(f"{name}-*.whl")), Path(folder)
        )
    print("words and seeds alone work")
    with tempfile.TemporaryDirectory() as folder:
        plugins = [
            *dist.glob("hydra_subprocess_launcher-*.whl"),
            *dist.glob("hydra_optuna_racing_sweeper-*.whl"),
        ]
        try_plugins_alone(*plugins, Path(folder))
    print("launcher and sweeper alone work")
    for pattern in ("*.whl", "*.tar.gz"):
        with tempfile.TemporaryDirectory() as folder:
            archives = sorted(dist.glob(pattern))
            assert len(archives) == 9, archives
            try_archives(archives, Path(folder))
        print(f"{pattern} works")


if __name__ == "__main__":
    main()
