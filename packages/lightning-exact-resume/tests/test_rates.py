"""Schedules and groups of parameters of a plain module, also where its training continues."""

import logging
from functools import partial

import lightning.pytorch as pl
import pytest
import torch
from torch.optim.lr_scheduler import ExponentialLR, LinearLR, ReduceLROnPlateau, SequentialLR
from torch.utils.data import DataLoader, TensorDataset

from lightning_exact_resume import OtherTraining, ParameterGroups, RateError, ResumeState, Schedule, lengths

pytestmark = pytest.mark.filterwarnings(
    "ignore:The '.*_dataloader' does not have many workers", "ignore:The number of training batches"
)
BATCHES = 4


class Module(pl.LightningModule):
    """Two layers, and the rate of each step."""

    def __init__(self, schedule, groups=None, optimizer=torch.optim.SGD, lr=1.0):
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
        self.schedule = Schedule(schedule)
        self.groups = ParameterGroups(partial(optimizer, lr=lr, weight_decay=0.5), groups or [], False)
        self.rates = {}

    def configure_callbacks(self):
        return [self.schedule, self.groups]

    def configure_optimizers(self):
        optimizer = self.groups(self.named_parameters())
        return {"optimizer": optimizer} | self.schedule.configuration(optimizer, self.trainer)

    def training_step(self, batch, _):
        self.rates[self.trainer.global_step + 1] = self.optimizers().param_groups[0]["lr"]
        return self.second(self.first(batch[0])).square().mean()


def fitted(module, epochs, ckpt_path=None):
    trainer = pl.Trainer(
        max_epochs=epochs, callbacks=[ResumeState()], accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, accumulate_grad_batches=2,
    )  # fmt: skip
    data = DataLoader(TensorDataset(torch.randn(2 * BATCHES, 3)), batch_size=1)
    trainer.fit(module, data, ckpt_path=ckpt_path, weights_only=True)
    return trainer


PARTS = [partial(LinearLR, start_factor=0.5, total_iters=4), partial(ExponentialLR, gamma=0.5)]
SCHEDULES = {
    "by epochs": (partial(ExponentialLR, gamma=0.5), lambda n, total: 0.5 ** ((n - 1) // BATCHES)),
    "by steps": (partial(ExponentialLR, gamma=0.5, interval="step"), lambda n, total: 0.5 ** (n - 1)),
    "parts": (partial(SequentialLR, schedulers=PARTS, milestones=[4], interval="step"),
              lambda n, total: 0.5 + (n - 1) / 8 if n < 5 else 0.5 ** (n - 5)),
    "length": (lambda optimizer, total_steps: torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 - n / total_steps),
               lambda n, total: 1 - (n - 1) / total),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_training_that_continues_longer_has_the_rates_of_its_length(name, tmp_path):
    factory, formula = SCHEDULES[name]
    begun = Module(factory)
    trainer = fitted(begun, 2)
    assert lengths(trainer) == {"step": 2 * BATCHES, "epoch": 2, "last": 2}
    assert begun.rates == {n: pytest.approx(formula(n, 8)) for n in range(1, 9)}
    trainer.save_checkpoint(tmp_path / "two.ckpt")
    longer = Module(factory)
    fitted(longer, 3, tmp_path / "two.ckpt")
    longer.rates.pop(9)  # which is in the checkpoint
    assert longer.rates == {n: pytest.approx(formula(n, 12)) for n in range(10, 13)}


def test_another_rate_scales_that_of_a_training_that_continues(tmp_path):
    fitted(Module(SCHEDULES["by steps"][0]), 1).save_checkpoint(tmp_path / "one.ckpt")
    smaller = Module(SCHEDULES["by steps"][0], lr=0.1)
    fitted(smaller, 2, tmp_path / "one.ckpt")
    assert smaller.rates == {n: pytest.approx(0.1 * 0.5 ** (n - 1)) for n in range(5, 9)}
    for other in (Module(SCHEDULES["by epochs"][0]), Module(None, optimizer=torch.optim.Adam)):
        with pytest.raises(OtherTraining):
            fitted(other, 2, tmp_path / "one.ckpt")
    with pytest.raises(RateError, match="scheduler: it follows val/loss"):
        fitted(Module(partial(ReduceLROnPlateau, mode="max")), 1)


def test_groups_have_rates_decay_and_frozen_epochs_by_name(caplog):
    caplog.set_level(logging.INFO)
    module = Module(None, [{"pattern": "^first", "lr": 0.1, "frozen": 1}])
    before = module.first.weight.clone()
    fitted(module, 1)
    assert torch.equal(module.first.weight, before)
    made = {id(p): each for each in module.trainer.optimizers[0].param_groups for p in each["params"]}
    for name, parameter in module.named_parameters():
        assert made[id(parameter)]["lr"] == (0.1 if name.startswith("first") else 1.0)
        assert made[id(parameter)]["weight_decay"] == (0.5 if name.endswith("weight") else 0)
    assert "^first: 9 parameters, lr 0.1, weight_decay 0.5, frozen until epoch 2" in caplog.text
    again = Module(None, [{"pattern": "^first", "lr": 0.1, "frozen": 1}])
    fitted(again, 2)
    assert not torch.equal(again.first.weight, before)
    with pytest.raises(ValueError, match=r"groups\[0\].pattern=third: is found in the name of no parameter"):
        fitted(Module(None, [{"pattern": "third"}]), 1)
