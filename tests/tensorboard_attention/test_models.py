"""Models of runs, which the tab shows as pages of the programs that trained them: only those of the log folder."""

import importlib.metadata
import re
import tomllib

import numpy as np
import pytest
from torch.utils.tensorboard import SummaryWriter

from seq2seq.export import tab
from seq2seq.export.tab import MODEL_FILES
from seq2seq.export.translating_page import export_page, static_file
from seq2seq.models.folder import SavedModel, save_model_folder
from tensorboard_attention import plugin
from tensorboard_attention.page import bundle, viewer_modules
from tensorboard_attention.writer import add_attention
from tests.conftest import ROOT
from tests.small import built_in_pairs, model_of, tokenizers_of

ROUTE = "/data/plugin/attention"
PAGE = "<!doctype html><title>mine</title>"


def entry_points_of(monkeypatch, **functions):
    """Have programs with these functions installed."""

    class Entry:
        def __init__(self, name):
            self.name = name

        def load(self):
            if isinstance(functions[self.name], Exception):
                raise functions[self.name]
            return functions[self.name]

    found = {plugin.MODELS: [Entry(name) for name in functions]}
    monkeypatch.setattr(plugin, "entry_points", lambda group: found[group])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of which some have a model, and beside the log folder one that must not be read."""
    above = tmp_path_factory.mktemp("above")
    root, pairs = above / "runs", built_in_pairs(20)
    codecs = tokenizers_of(pairs)
    sizes = [len(codec.vocabulary) for codec in codecs]
    names = "source_vocab_size", "target_vocab_size"
    for run, changes in (
        ("own", {}), ("lstm", {"cell": "lstm"}), ("none", None), ("../outside", {}),
    ):  # fmt: skip
        (root / run).mkdir(parents=True)
        if run != "../outside":
            record(root / run)
        if changes is not None:
            model = model_of(**dict(zip(names, sizes, strict=True)), **changes).float()
            exported = SavedModel(model, *codecs)
            save_model_folder(root / run / "model", exported)
    for run, links in (("led", ["model"]), ("filed", [f"model/{name}" for name in MODEL_FILES])):
        (root / run).mkdir()
        (root / run / "model").mkdir() if "/" in links[0] else None
        record(root / run)
        for link in links:
            if (above / "outside" / link).exists():
                (root / run / link).symlink_to(above / "outside" / link)
    (root / "linked").symlink_to(above / "outside")
    return root


def record(run):
    with SummaryWriter(str(run)) as writer:
        add_attention(writer, "attention/0", np.eye(2), ["a", "b"], ["c", "d"], 1)


@pytest.fixture
def served(serve, folder, monkeypatch):
    """A client whose TensorBoard knows the models of seq2seq."""
    entry_points_of(monkeypatch, seq2seq=tab.model_page)
    return serve(folder)


def test_seq2seq_names_its_function():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (value,) = project["entry-points"][plugin.MODELS].values()
    entry = importlib.metadata.EntryPoint("seq2seq", value, plugin.MODELS)
    assert entry.load() is tab.model_page


def test_the_page_of_a_run_is_that_of_its_program(served, folder):
    runs = {run["run"]: run["model"] for run in served.get(f"{ROUTE}/index").json["runs"]}
    assert runs.items() >= {"own": True, "lstm": True, "none": False, "led": False, "filed": False}.items()
    answer = served.get(f"{ROUTE}/model", query_string={"run": "own"})
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert answer.text == export_page(folder / "own" / "model", "")
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")
    assert "allow-same-origin" not in answer.headers["Content-Security-Policy"]
    refused = served.get(f"{ROUTE}/model", query_string={"run": "lstm"})
    assert refused.status_code == 400
    assert "decoder=bahdanau" in refused.text


@pytest.mark.parametrize(
    "run",
    [
        *("none", "absent", "led", "filed", "linked", "../outside", "own/../../outside"),
        *("/", "", "a\0b", "x" * 300, "x" * 5000),
    ],
)
def test_no_other_file_becomes_a_model(served, folder, run):
    for name in (run, str(folder.parent / "outside") if run == "/" else run):
        assert served.get(f"{ROUTE}/model", query_string={"run": name}).status_code == 404
    assert served.get(f"{ROUTE}/model").status_code == 404
    assert served.get(f"{ROUTE}/model?run=own&run=none").status_code == 404


def test_a_model_too_large_for_a_browser_is_none(served, monkeypatch):
    monkeypatch.setattr(tab, "MODEL_BYTES", 100)
    assert served.get(f"{ROUTE}/model?run=own").status_code == 404


def test_any_program_can_offer_pages_and_a_broken_one_disturbs_nobody(serve, folder, monkeypatch):
    asked = []

    def mine(run):
        asked.append(run)
        return (lambda: PAGE) if run.name == "none" else None

    def broken(run):
        raise KeyError("weights")

    entry_points_of(monkeypatch, mine=mine)
    assert serve(folder).get(f"{ROUTE}/model?run=none").text == PAGE
    assert asked == [folder.resolve() / "none"]
    entry_points_of(monkeypatch, broken=broken, absent=ImportError("no torch"))
    client = serve(folder)
    index = client.get(f"{ROUTE}/index").json
    assert not any(run["model"] for run in index["runs"])
    assert any("own: broken cannot read" in problem for problem in index["problems"])
    assert client.get(f"{ROUTE}/model?run=own").status_code == 404
    entry_points_of(monkeypatch, broken=broken, mine=mine)
    assert serve(folder).get(f"{ROUTE}/model?run=none").text == PAGE


def test_the_modules_of_the_page_fit_behind_the_viewer_and_parse_no_text_as_markup():
    own = [static_file(name) for name in ("model.js", "asking.js")]
    script = bundle([own[0], *viewer_modules(), own[1]])
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|const|class|let) (\w+)", script, re.MULTILINE)
    assert len(names) == len(set(names)), "two modules declare the same name"
    for module in own:
        assert not re.search(
            r"(inner|outer)HTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function", module
        )


def test_the_tab_has_nothing_of_seq2seq_but_a_link():
    package = ROOT / "packages" / "tensorboard-attention"
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    texts = [path.read_text(encoding="utf-8") for path in files]
    assert len(files) > 15
    lines = [line for text in texts for line in text.splitlines() if "seq2seq" in line]
    assert len(lines) == 1
    assert "](../../src/seq2seq/export/tab.py)" in lines[0]
