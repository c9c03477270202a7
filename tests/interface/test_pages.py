"""docs/python.md and the notebooks that train, run as they stand but for sizes."""

import ast
import json
import re
import sys
from copy import deepcopy
from pathlib import Path

import pytest

import seq2seq
from seq2seq.attention.scores import SCORES
from seq2seq.experiments import processes
from seq2seq.sweeps import sweep as sweep_module
from tests.conftest import TINY
from tests.forks import FORKING
from tests.swept import STUB
from tests.tiny import SMALL_MODEL

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text("utf-8"), re.S)
NOTEBOOKS = {
    path.stem: json.loads(path.read_text("utf-8")) for path in (ROOT / "notebooks").glob("*.ipynb")
}
FEWEST = ["trainer.max_epochs=1", "device.threads=1", "decoding.beam=2", "tensorboard.heatmaps=0"]


def run_cell(source, namespace):
    """The value of the last line, where it is an expression, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)
    return last and eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Trainings are tiny, jobs of sweeps take no time."""
    monkeypatch.chdir(tmp_path)
    train = seq2seq.train

    def shrunk(*overrides, **text):
        added = [*SMALL_MODEL, "model.readout_size=8"] if text else TINY
        return train(*overrides, *added, *FEWEST, f"name=run{len(overrides)}", **text)

    monkeypatch.setattr(seq2seq, "train", shrunk, raising=False)
    monkeypatch.setattr(sweep_module, "own_command", lambda: [sys.executable, str(STUB)])
    monkeypatch.setattr(processes, "subprocess", FORKING)


@pytest.mark.long
def test_the_examples_of_the_page_run_in_order(small):
    namespace = {}
    shown = [run_cell(block, namespace) for block in BLOCKS]
    assert len(shown) == 5
    assert shown[1].text == "Je le vois."
    assert all("<iframe" in each._repr_html_() for each in shown[1:3])
    assert namespace["own"].metrics["validation"]["num_sentences"] == 20
    assert len(namespace["runs"]) == 4
    assert namespace["best"].metrics == namespace["runs"][0].metrics


def code_of(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_every_notebook_opens_elsewhere_by_one_address():
    installing = {"".join(code_of(each)[0]["source"]) for each in NOTEBOOKS.values()}
    (install,) = installing
    assert install.count("REPOSITORY") == 2
    for notebook in NOTEBOOKS.values():
        assert "](https://colab.research.google.com/github)" in "".join(
            notebook["cells"][0]["source"]
        )
        assert code_of(notebook)[0]["metadata"]["tags"] == ["install"]


@pytest.mark.parametrize("name", ["training", "score"])
def test_what_the_notebooks_that_train_show_is_kept(name):
    cells = code_of(NOTEBOOKS[name])
    shown = json.dumps([cell["outputs"] for cell in cells])
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert "<iframe" in shown
    assert "<table>" in shown
    assert "/root" not in shown and "/home" not in shown  # noqa: PT018 - nobody's folders


def test_the_notebook_uses_this_alone():
    code = code_of(NOTEBOOKS["training"])
    imported = {
        alias.name
        for cell in code
        for node in ast.walk(ast.parse("".join(cell["source"])))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {"seq2seq", "subprocess", "sys", "find_spec"}
    assert 8 <= len(code) <= 12


def shrunk_notebook(name):
    """A notebook with the tests' settings in its cell of parameters."""
    notebook = deepcopy(NOTEBOOKS[name])
    cells = code_of(notebook)
    (values,) = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", ())]
    values["source"] = f"SETTINGS = {[*TINY, *FEWEST]}"
    for cell in cells:
        cell["outputs"], cell["execution_count"] = [], None
    return notebook


@pytest.mark.parametrize(
    ("name", "is_picture"), [("training", [True, True, False]), ("score", [True, False])]
)
def test_the_cells_of_the_notebook_run_in_order(name, is_picture, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SCORES, "_added", {})
    namespace = {}
    shown = [
        run_cell("".join(cell["source"]), namespace) for cell in code_of(shrunk_notebook(name))
    ]
    html = [each._repr_html_() for each in shown if hasattr(each, "_repr_html_")]
    assert ["<iframe" in each for each in html] == is_picture
    if name == "training":
        assert set(shown[-2]) == {"validation", "test"}


INTERRUPTED = """
import os, signal
from tests.stops import stopped_after

def train():
    return seq2seq.train(*SETTINGS, "name=interrupted")

with stopped_after(2, lambda: os.kill(os.getpid(), signal.SIGINT)):
    train()
"""


@pytest.mark.long
def test_a_kernel_runs_the_notebook_is_interrupted_and_goes_on(monkeypatch, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra notebook")
    import nbformat  # noqa: PLC0415 - comes with it

    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'src'}")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    notebook = nbformat.reads(json.dumps(shrunk_notebook("training")), as_version=4)
    for source in (INTERRUPTED, "train().metrics['num_steps']"):
        notebook.cells.append(nbformat.v4.new_code_cell(source))
    notebook.cells[-2].metadata["tags"] = ["raises-exception"]
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    code = [cell for cell in notebook.cells if cell["cell_type"] == "code"]
    *cells, interrupted, continued = code
    shown = [json.dumps(cell["outputs"]) for cell in cells]
    assert sum("<iframe" in each for each in shown) == 2
    assert "<table>" in shown[-1]
    assert not any("\\u001b" in each for each in shown)  # no bar, no colours
    assert interrupted["outputs"][-1]["ename"] == "KeyboardInterrupt"
    assert "the same call continues" in interrupted["outputs"][-1]["evalue"]
    assert "continuing from" in json.dumps(continued["outputs"])
    assert continued["outputs"][-1]["data"]["text/plain"] == "8"
