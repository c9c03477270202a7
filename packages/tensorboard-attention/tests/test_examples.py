"""The examples run, and the tab finds what they write."""

import base64
import re
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from packages.programs import fork
from tensorboard_attention.event_files import read_log_folder

ROOT = Path(__file__).parents[3]


def views_of(folder):
    return {view["tag"]: view for view in read_log_folder(folder)["views"]}


@pytest.fixture
def run(tmp_path):
    def start(name, *options):
        quiet = partial(warnings.simplefilter, "ignore")
        script, output = ROOT / "examples" / name, tmp_path / "said.txt"
        program = fork(script, ["--logdir", tmp_path, *options], output, cwd=tmp_path, prepare=quiet)
        assert program.wait(300) == 0, program.text
        return views_of(tmp_path)

    return start


def last_weights(view):
    frame = view["frames"][-1]
    weights = np.frombuffer(base64.b64decode(frame["weights"]), "<u2") / 65535
    size = len(view["targets"][frame["target"]]), len(view["sources"][frame["source"]])
    return weights.reshape(*frame.get("maps", ()), *size)


def test_the_loop_learns_to_look_at_the_other_end(run):
    (view,) = run("attention_loop.py").values()
    assert view["steps"] == list(range(0, 201, 20))
    weights = last_weights(view)
    assert weights.argmax(axis=1).tolist() == list(range(7, -1, -1))
    source = view["sources"][view["frames"][-1]["source"]]
    assert view["references"] == [" ".join(reversed(source))]


def test_the_transformer_writes_all_heads_of_self_and_cross_attention(run):
    views = run("attention_transformer.py")
    names = "encoder self-attention", "decoder self-attention", "cross-attention"
    assert set(views) == {f"sentence 1/{name}" for name in names}
    for view in views.values():
        weights = last_weights(view)
        assert weights.shape == (3, 4, 4, 4)
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-4)
    causal = last_weights(views["sentence 1/decoder self-attention"])
    assert not np.triu(causal, 1).any()
    assert views["sentence 1/cross-attention"]["targets"] == [("le", "petit", "chat", "dort")]


def test_a_model_of_hugging_face_writes_all_heads(run):
    pytest.importorskip("transformers", reason="needs transformers")
    views = run("attention_huggingface.py")
    cross, own = views["sentence 1/beam"], views["sentence 1/encoder self-attention"]
    forced = views["sentence 1/cross-attention"]
    np.testing.assert_allclose(last_weights(cross), last_weights(forced), atol=2e-5)
    assert last_weights(cross).shape[:2] == (2, 4)
    assert last_weights(own).shape == (2, 4, 5, 5)
    assert cross["frames"][0]["score"] < 0


def test_a_trainer_of_hugging_face_records_its_sentences(run):
    pytest.importorskip("accelerate", reason="transformers.Trainer needs accelerate")
    views = run("attention_trainer.py", "--steps", "2")
    assert set(views) == {f"probe {n}/self-attention" for n in (1, 2)}
    assert views["probe 1/self-attention"]["steps"] == [0, 2]
    assert last_weights(views["probe 1/self-attention"]).shape == (2, 4, 21, 21)


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    text = (ROOT / "packages/tensorboard-attention/README.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "README.md", "exec"), names)
    (view,) = views_of(tmp_path / "runs").values()
    assert view["steps"] == [0, 1, 2, 3, 4]
    assert last_weights(view).shape == (3, 4, 3, 3)
    assert "Content-Security-Policy" in (tmp_path / "page.html").read_text(encoding="utf-8")
