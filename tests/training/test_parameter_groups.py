"""`optimizer.groups` and `optimizer.decay_vectors`: rates and decay of parts, frozen parts, and that a training goes on so."""

import pytest
import torch

from seq2seq.common.errors import InputError
from tests.conftest import TINY
from tests.training.test_continuations import fitted, last_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:You defined a `validation_step`", "ignore:The number of training batches"
)


def changed(trainer, prefix, began):
    """Whether the parameters whose names begin so have changed since the training began."""
    now = trainer.lightning_module.state_dict()
    same = {torch.equal(now[name], began[name]) for name in began if name.startswith(f"model.{prefix}")}
    assert len(same) == 1, prefix
    return not same.pop()


def test_groups_have_rates_and_decay_of_their_own_and_vectors_none(tmp_path):
    groups = [{"pattern": "^encoder", "lr": 0.1}, {"pattern": "embedding", "weight_decay": 0.25}]
    trainer = fitted(
        tmp_path, 1, lr=0.5, adam={"groups": groups, "weight_decay": 0.1, "decay_vectors": False}
    )
    module, (optimizer,) = trainer.lightning_module, trainer.optimizers
    found = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    for name, parameter in module.model.named_parameters():
        group = found[id(parameter)]
        assert group["lr"] == (0.1 if name.startswith("encoder") else 0.5), name
        usual = 0.25 if "embedding" in name and not name.startswith("encoder") else 0.1
        assert group["weight_decay"] == (usual if parameter.ndim > 1 else 0.0), name


def test_frozen_parts_are_not_trained_or_not_before_an_epoch(tmp_path):
    groups = [{"pattern": "^encoder", "frozen": 1}, {"pattern": "^source_embedding", "frozen": True}]
    for epochs, encoder in ((1, False), (2, True)):
        trainer = fitted(tmp_path / str(epochs), epochs, adam={"groups": groups, "weight_decay": 0.1})
        began = trainer.lightning_module.began
        assert changed(trainer, "encoder", began) == encoder
        assert not changed(trainer, "source_embedding", began)
        assert changed(trainer, "decoder.output", began)


def test_a_training_with_groups_that_goes_on_has_the_same_weights(tmp_path):
    adam = {"groups": [{"pattern": "^encoder", "lr": 0.1, "frozen": 2}], "decay_vectors": False}
    whole = fitted(tmp_path / "whole", 3, adam=adam)
    fitted(tmp_path / "half", 1, adam=adam)
    halves = fitted(tmp_path / "two", 3, adam=adam, ckpt_path=last_of(tmp_path / "half"))
    states = [each.lightning_module.state_dict() for each in (whole, halves)]
    assert all(torch.equal(states[1][name], value) for name, value in states[0].items())


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([{"pattern": "encodr"}], r"groups\[0\].pattern=encodr: is found in the name of no parameter"),
        ([{"pattern": "encoder"}, {"pattern": "^encoder"}], r"groups\[1\]"),
        ([{"lr": 0.1}], "pattern is needed"),
        ([{"pattern": "encoder", "rate": 1}], "give pattern, lr, weight_decay, frozen"),
        ([{"pattern": "("}], "no regular expression"),
        ([{"pattern": "encoder", "lr": -1}], r"groups\[0\].lr=-1"),
        ({"encoder": 1}, "expected a list"),
    ],
)
def test_wrong_groups_are_refused(groups, said, tmp_path):
    with pytest.raises(InputError, match=said):
        fitted(tmp_path, 1, adam={"groups": groups})


def test_the_table_of_groups_is_told_and_logged(program, tmp_path):
    given = "+optimizer.groups=[{pattern: encoder, lr: 1e-4, frozen: 1}]", "+optimizer.decay_vectors=false"
    told = program(*TINY, *given, "trainer.max_epochs=1", cwd=tmp_path, check=0).text
    log = (tmp_path / "runs/baseline/debug_fast/train.log").read_text(encoding="utf-8")
    for begin, end in (
        ("encoder: ", "lr 0.0001, weight_decay 0, frozen until epoch 2"),
        ("all others, biases", "weight_decay 0"),
    ):
        (line,) = [each for each in told.splitlines() if each.startswith(f"group       {begin}")]
        assert line.endswith(end)
        assert line in log
