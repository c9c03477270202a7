"""Attention is drawn between validations, if that is wanted, and training never knows."""

from types import SimpleNamespace

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn

from seq2seq.runs.run import run
from seq2seq.tensorboard.draws_attention import DrawsAttention
from seq2seq.tensorboard.plugin.event_files import read_log_folder


def drawn_steps(folder):
    """Those of the pictures of a sentence, and of its records."""
    images = EventAccumulator(str(folder), size_guidance={"images": 0}).Reload()
    (view,) = (
        view for view in read_log_folder(folder)["views"] if view["tag"] == "attention/0/forced"
    )
    pictures = [image.step for image in images.Images("attention/0")]
    assert pictures == [frame["step"] for frame in view["frames"]]
    return pictures


@pytest.mark.parametrize(
    ("overrides", "steps"),
    [
        (["tensorboard.draw_every=3"], [3, 6, 8, 9, 12, 15, 16]),
        (["tensorboard.draw_every=4"], [4, 8, 12, 16]),
        (["tensorboard.draw_every=8", "trainer.validate_every=2"], [8, 16]),
        (["tensorboard.draw_every=100"], [8, 16]),
        (["tensorboard.draw_every=1", "trainer.accumulate=2"], [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
    ids=["3", "4", "8, rare validations", "100", "1, of two batches"],
)
def test_attention_is_drawn_at_every_so_many_steps_and_at_validations(
    tiny, tmp_path, overrides, steps
):
    run(tiny(*overrides), tmp_path / "run")
    assert drawn_steps(tmp_path / "run") == steps


def test_drawing_changes_no_weight(tiny, tmp_path):
    weights = {}
    for every in ("null", "1"):
        folder = tmp_path / every
        run(tiny(f"tensorboard.draw_every={every}", "model.dropout=0.3"), folder)
        weights[every] = torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)
    before, after = (each["state_dict"] for each in weights.values())
    assert all(torch.equal(before[name], after[name]) for name in before)


class Seen(DrawsAttention):
    def __init__(self, every):
        super().__init__(every)
        self.steps = []

    def draw(self, trainer, pl_module):
        assert not any(part.training for part in pl_module.modules())
        assert not torch.is_grad_enabled()
        self.steps.append(trainer.global_step)


def trainer_at(step):
    return SimpleNamespace(
        global_step=step,
        is_last_batch=False,
        current_epoch=0,
        check_val_every_n_epoch=1,
        loggers=[],
    )


def test_a_model_is_drawn_as_it_translates_and_learns_on():
    seen, model = Seen(2), nn.Sequential(nn.Dropout(), nn.Linear(2, 2))
    for step in range(1, 6):
        seen.on_train_batch_end(trainer_at(step), model)
        assert all(part.training for part in model.modules())
    assert seen.steps == [2, 4]


def test_a_training_that_continues_has_drawn_where_it_was():
    seen, model = Seen(2), nn.Linear(2, 2)
    seen.on_train_start(trainer_at(4), model)
    seen.on_train_batch_end(trainer_at(4), model)  # the second batch of a step
    seen.on_train_batch_end(trainer_at(6), model)
    assert seen.steps == [6]
