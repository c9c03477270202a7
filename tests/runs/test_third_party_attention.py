"""An attention of another package: trained, searched and refused as ours are."""

import json
import sys
from dataclasses import replace

import pytest
import torch

from seq2seq.command_line.composing import composed
from seq2seq.config import AttentionOptions
from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError
from seq2seq.model.attentions.build import AttentionForm, build_attention
from seq2seq.model.attentions.registry import ATTENTIONS, AttentionKind
from seq2seq.model.memory import Encoded
from seq2seq.own_files import CONF
from seq2seq.runs.making.model import check_model
from seq2seq.runs.rerun import rerun
from seq2seq.runs.run import run
from seq2seq.runs.saved_config import load_config
from tests.conftest import TINY

FORM = AttentionForm(
    score="dot", hidden_size=None, dropout=0.0, kind="lingering", options={"share": 0.25},
    coverage=False, normaliser="softmax", heads=1, window=None,
)  # fmt: skip


def test_it_comes_with_its_keys_its_values_and_its_weights(install_example):
    install_example("lingering")
    config, _ = composed(CONF, ["attention=lingering"])
    assert (config.attention.kind, config.attention.options.share) == ("lingering", 0.25)
    attention, _ = build_attention(FORM, query_size=4, memory_size=4)
    states, queries = torch.randn(2, 3, 4), torch.randn(2, 2, 4)
    is_token = torch.tensor([[True] * 3, [True, True, False]])
    memory = Encoded(states, is_token, ()).remembered(states, attention.remember(states), ())
    state = attention.initial_state(memory)
    before = torch.tensor([[1.0, 0.0, 0.0]]).expand(2, 3)
    for query in queries.unbind(1):
        context, weights, state = attention.attend(query, memory, state)
        scores = torch.einsum("bq,bsq->bs", query, states).where(is_token, -torch.inf)
        before = 0.75 * scores.softmax(-1) + 0.25 * before
        torch.testing.assert_close(weights, before)
        torch.testing.assert_close(context, torch.einsum("bs,bsm->bm", before, states))


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (
            ["attention=lingering", "attention.options.shar=1"],
            r"attention.options.shar: .* did you mean attention\.options\.share",
        ),
        (
            ["attention=lingering", "attention.options.share=2"],
            r"attention\.options\.share=2.* is out of range: of the weights that stays, from 0 to",
        ),
        (
            ["attention=lingering", "attention.options.share=x"],
            "attention.options.share=x is wrong: attention.options.share takes a number, 0 to 1",
        ),
        (["attention.options.share=0.5"], "attention.options.share: there is no such key"),
        (["attention=lingerin"], "attention=lingerin: no such choice, did you mean lingering"),
        (["attention.kind=lingerin"], "attention.kind=lingerin is wrong: .*did you mean lingering"),
        (
            ["attention.kind=lingering"],
            "does not go with the options of another .*: choose attention=lingering",
        ),
    ],
)
def test_wrong_options_are_refused_as_ours_are(install_example, overrides, line):
    install_example("lingering")
    with pytest.raises(InputError, match=line):
        composed(CONF, overrides)


def test_a_run_is_trained_and_repeated_and_its_model_names_the_package(
    install_example, tmp_path, monkeypatch
):
    install_example("lingering")
    tiny = [*TINY, "trainer.max_epochs=1", "attention=lingering", "attention.hidden_size=8"]
    config, _ = composed(CONF, [*tiny, "attention.heads=2", "attention.options.share=0.5"])
    run(config, tmp_path / "run")
    assert load_config(tmp_path / "run").attention == config.attention
    assert rerun(tmp_path / "run", tmp_path / "again") == []
    spec = json.loads((tmp_path / "run" / "model" / "model.json").read_text())["spec"]
    assert (spec["attention_kind"], spec["attention_options"]) == ("lingering", {"share": 0.5})
    assert Translator.load(tmp_path / "run").translate(["the cat sleeps ."])
    other, _ = composed(CONF, [*tiny, "attention.heads=2", f"init_from={tmp_path / 'run'}"])
    with pytest.raises(InputError, match=r"its attention.options is \{'share': 0.5\}, this run's"):
        run(other, tmp_path / "other")
    monkeypatch.setattr(sys, "path", [each for each in sys.path if "seq2seq-lingering" not in each])
    with pytest.raises(InputError, match="unknown attention 'lingering'"):
        Translator.load(tmp_path / "run")
    with pytest.raises(InputError, match=r"attention\.kind: unknown attention 'lingering'"):
        load_config(tmp_path / "run")


START = "from seq2seq.config import AttentionOptions\n"
START += "from seq2seq.model.attentions.registry import AttentionKind\n"


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("raise OSError('no licence')", "package 'bad-attention' cannot be imported .*no licence"),
        ("bad = 7", "package 'bad-attention' is no AttentionKind: 7"),
        (f"{START}bad = AttentionKind(int, len)", "'int'.* are made of no AttentionOptions"),
        (
            f"{START}bad = AttentionKind(AttentionOptions, lambda *_: 1 / 0)",
            "attention 'bad' fails: ZeroDivisionError",
        ),
        (
            f"{START}bad = AttentionKind(AttentionOptions, lambda *_: 'x')",
            "attention 'bad' makes no module with memory: 'x'",
        ),
    ],
)
def test_a_broken_package_is_one_line_that_names_it(install_part, code, line, capsys):
    install_part("bad-attention", "seq2seq.attentions", "bad = bad_attention:bad", code)
    with pytest.raises(InputError, match=line) as refusal:
        check_model(composed(CONF, ["attention.kind=bad"])[0])
    assert "\n" not in str(refusal.value)
    assert capsys.readouterr().err == ""


def test_options_of_a_stranger_are_checked(install_example):
    install_example("lingering")
    with pytest.raises(
        ImportError, match=r"attention 'lingering' fails: .*share: Expected `?float"
    ):
        build_attention(replace(FORM, options={"share": "much"}), query_size=4, memory_size=4)


def test_a_built_in_attention_cannot_be_taken():
    with pytest.raises(TypeError, match="attention 'monotonic' cannot be called that"):
        ATTENTIONS.add("monotonic")(AttentionKind(AttentionOptions, len))
