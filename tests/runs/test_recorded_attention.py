"""What training leaves for the Attention tab."""

import base64

import numpy as np
import pytest

from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError
from seq2seq.runs.run import run
from seq2seq.tensorboard.plugin.event_files import read_log_folder

OWN = ["I see the cat.", "The cat sleeps. ||| Le chat dort."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("recorded") / "run"


@pytest.fixture
def views(tiny, folder):
    """What a tiny run recorded, by tag."""
    if not folder.exists():
        texts = "tensorboard.panel.texts=[" + ",".join(f"'{text}'" for text in OWN) + "]"
        panel = ["tensorboard.panel.indices=[7]", texts, "decoding.beam=3"]
        run(tiny("trainer.monitor=last", *panel), folder)
    return {view["tag"]: view for view in read_log_folder(folder)["views"]}


def weights_of(view, frame):
    weights = np.frombuffer(base64.b64decode(frame["weights"]), "<u2") / 65535
    return weights.reshape(len(view["targets"][frame["target"]]), -1)


def test_every_sentence_of_the_panel_has_its_kinds_at_every_validation(views):
    sentences = ("attention/0", "attention/1", "attention/7", "attention/text 2")
    ranks = [kind for tag in views if (kind := tag.partition("attention/0/")[2]).startswith("beam")]
    assert len(ranks) == 3
    searched = ["greedy", *ranks]
    assert set(views) == {
        *(f"{sentence}/{kind}" for sentence in sentences for kind in ("forced", *searched)),
        *(f"attention/text 1/{kind}" for kind in searched),
    }
    for view in views.values():
        assert [frame["step"] for frame in view["frames"]] == [8, 16]
        for frame in view["frames"]:
            np.testing.assert_allclose(weights_of(view, frame).sum(axis=1), 1, atol=1e-3)
            assert frame["score"] < 0


def test_forced_records_have_the_given_target_and_its_gold_alignment(views):
    view = views["attention/0/forced"]
    assert len(view["targets"]) == 1
    assert view["targets"][0][-1] == "<eos>"
    assert view["alignments"][0]
    assert all(frame["bleu"] is None for frame in view["frames"])
    own = views["attention/text 2/forced"]
    assert len(own["targets"][0]) == 5
    assert own["alignments"] == [None]


def test_greedy_records_are_the_translation_with_its_score_and_bleu(views, folder):
    view = views["attention/text 2/greedy"]
    last = view["frames"][-1]
    (translation,) = Translator.load(folder).translate(["The cat sleeps."], beam=1)
    assert view["targets"][last["target"]] == translation.target_tokens
    assert views["attention/0/greedy"]["alignments"] == [None], "gold is of the reference"
    assert last["score"] == pytest.approx(translation.score, abs=1e-3)
    np.testing.assert_allclose(weights_of(view, last), translation.weights.numpy(), atol=1e-4)
    assert 0 <= last["bleu"] <= 100
    assert views["attention/text 1/greedy"]["frames"][-1]["bleu"] is None


def test_an_empty_panel_records_nothing(tiny, tmp_path):
    run(tiny("tensorboard.panel.first=0", "trainer.max_steps=1"), tmp_path / "run")
    with pytest.raises(InputError, match="holds no attention records"):
        read_log_folder(tmp_path / "run")


def test_negative_places_are_refused(tiny):
    with pytest.raises(InputError, match=r"tensorboard\.panel\.indices=\[-1\] is out of range"):
        tiny("tensorboard.panel.indices=[-1]")
