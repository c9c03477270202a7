"""What the Attention tab is offered for a run of this program."""

import tomllib
from importlib.metadata import EntryPoint

import pytest
from tensorboard.plugins.base_plugin import TBContext
from werkzeug.test import Client

from seq2seq.common.errors import InputError
from seq2seq.export import tab
from seq2seq.export.tab import MODEL_FILES, model_page
from seq2seq.export.translating_page import export_page
from seq2seq.models.folder import SavedModel, save_model_folder
from tensorboard_attention import plugin
from tests.conftest import ROOT
from tests.small import built_in_pairs, model_of, tokenizers_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of which some have a model, and links out of them."""
    above = tmp_path_factory.mktemp("above").resolve()
    tokenizers = tokenizers_of(built_in_pairs(20))
    sizes = {
        f"{side}_vocab_size": each.vocab_size
        for side, each in zip(("source", "target"), tokenizers, strict=True)
    }
    for run, changes in (("runs/own", {}), ("runs/lstm", {"cell": "lstm"}), ("outside", {})):
        model = model_of(**sizes, **changes).float()
        save_model_folder(above / run / "model", SavedModel(model, *tokenizers))
    root = above / "runs"
    (root / "none").mkdir()
    (root / "led").mkdir()
    (root / "led" / "model").symlink_to(above / "outside" / "model")
    (root / "filed" / "model").mkdir(parents=True)
    for name in MODEL_FILES:
        (root / "filed" / "model" / name).symlink_to(above / "outside" / "model" / name)
    return root


def test_the_tab_shows_the_page_of_a_model(folder, monkeypatch):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((name, value),) = project["entry-points"][plugin.MODELS].items()
    monkeypatch.setattr(plugin, "entry_points", lambda group: [EntryPoint(name, value, group)])
    attention = plugin.AttentionPlugin(TBContext(logdir=str(folder)))
    client = Client(attention.get_plugin_apps()["/model"])
    answer = client.get("/?run=own")
    assert (answer.status_code, answer.text) == (200, export_page(folder / "own" / "model", ""))
    refused = client.get("/?run=lstm")
    assert refused.status_code == 400
    assert "decoder=bahdanau" in refused.text


@pytest.mark.parametrize("run", ["none", "absent", "led", "filed"])
def test_a_run_without_a_model_of_its_own_has_no_page(folder, run):
    assert model_page(folder / run) is None


def test_a_model_that_no_page_computes_is_refused_when_it_is_opened(folder):
    page = model_page(folder / "lstm")
    with pytest.raises(InputError, match="decoder=bahdanau"):
        page()


def test_a_model_too_large_for_a_browser_is_none(folder, monkeypatch):
    monkeypatch.setattr(tab, "MODEL_BYTES", 100)
    assert model_page(folder / "own") is None
