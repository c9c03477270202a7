"""Models of runs of seq2seq, which the tab sends to the browser: only those of the log folder."""

import numpy as np
import pytest
from torch.utils.tensorboard import SummaryWriter

from seq2seq.export.model_folder import SavedModel, save_model_folder
from seq2seq.export.translating_page import export_page
from tensorboard_attention import plugin as loader
from tensorboard_attention.plugin import MODEL_FILES
from tensorboard_attention.writer import add_attention
from tests.small import built_in_pairs, model_of, tokenizers_of
from tests.tensorboard_attention.translating import data_of

ROUTE = "/data/plugin/attention"


@pytest.fixture(scope="module")
def served_models(serve, tmp_path_factory):
    """A client on runs of which some have a model, and the folder of the runs."""
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
            with SummaryWriter(str(root / run)) as writer:
                add_attention(writer, "attention/0", np.eye(2), ["a", "b"], ["c", "d"], 1)
        if changes is not None:
            model = model_of(**dict(zip(names, sizes, strict=True)), **changes).float()
            exported = SavedModel(model, *codecs)
            save_model_folder(root / run / "model", exported)
    for run, links in (("led", ["model"]), ("filed", [f"model/{name}" for name in MODEL_FILES])):
        (root / run).mkdir()
        (root / run / "model").mkdir() if "/" in links[0] else None
        with SummaryWriter(str(root / run)) as writer:
            add_attention(writer, "attention/0", np.eye(2), ["a", "b"], ["c", "d"], 1)
        for link in links:
            if (above / "outside" / link).exists():
                (root / run / link).symlink_to(above / "outside" / link)
    return serve(root), root


def test_the_model_of_a_run_is_what_the_page_that_translates_holds(served_models):
    client, root = served_models
    runs = {run["run"]: run["model"] for run in client.get(f"{ROUTE}/index").json["runs"]}
    assert runs == {"own": True, "lstm": True, "none": False, "led": False, "filed": False}
    answer = client.get(f"{ROUTE}/model", query_string={"run": "own"})
    assert answer.json == data_of(export_page(root / "own", ""))["model"]
    refused = client.get(f"{ROUTE}/model", query_string={"run": "lstm"})
    assert (refused.status_code, refused.text) == (
        400, "a page computes encoder=gru with decoder=bahdanau only",
    )  # fmt: skip


@pytest.mark.parametrize(
    "run",
    [
        *("none", "absent", "led", "filed", "../outside", "own/../../outside"),
        *("/", "", "a\0b", "x" * 300, "x" * 5000),
    ],
)
def test_no_other_file_becomes_a_model(served_models, run):
    client, root = served_models
    for name in (run, str(root.parent / "outside") if run == "/" else run):
        assert client.get(f"{ROUTE}/model", query_string={"run": name}).status_code == 404
    assert client.get(f"{ROUTE}/model").status_code == 404
    assert client.get(f"{ROUTE}/model?run=own&run=none").status_code == 404


def test_a_model_too_large_for_a_browser_is_none(served_models, monkeypatch):
    client, _ = served_models
    monkeypatch.setattr(loader, "MODEL_BYTES", 100)
    assert client.get(f"{ROUTE}/model?run=own").status_code == 404
