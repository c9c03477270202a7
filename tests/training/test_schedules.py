"""Schedules and averages of weights against their formulas."""

import math
import random
from functools import partial

import lightning.pytorch as pl
import pytest
import torch
from omegaconf import OmegaConf
from torch.optim.swa_utils import AveragedModel

from lightning_exact_resume import BorderCallback
from seq2seq.common.errors import InputError
from seq2seq.data import PairsCorpus
from seq2seq.run.building import build
from seq2seq.training import TranslationModule, warmup_constant, warmup_cosine, warmup_ema
from seq2seq.training.resume import ResumeState
from tests.conftest import ROOT
from tests.small import model_of
from tests.training.test_module import TRAINER

pytestmark = pytest.mark.filterwarnings(
    "ignore:You defined a `validation_step`", "ignore:The number of training batches"
)


def test_the_average_of_weights_is_its_formula():
    torch.manual_seed(0)
    weights = torch.nn.Linear(3, 2, bias=False).double()
    averaged = AveragedModel(weights, multi_avg_fn=warmup_ema(0.5))
    expected = None
    for n in range(30):
        with torch.no_grad():
            weights.weight.copy_(torch.randn(2, 3, dtype=torch.float64))
        averaged.update_parameters(weights)
        decay = min(0.5, (1 + n) / (10 + n)) if n else 0.0
        expected = weights.weight.clone() if n == 0 else decay * expected + (1 - decay) * weights.weight
        torch.testing.assert_close(averaged.module.weight, expected, rtol=0, atol=1e-12)


# --- the rate of each step of a training, by the formulas of the docs ---


def cosine(n, total, warmup=4, ratio=0.1):
    if n <= warmup:
        return n / warmup
    return ratio + (1 - ratio) * (1 + math.cos(math.pi * (n - warmup) / (total - warmup))) / 2


def one_cycle(n, total, peak=0.3, divisor=25, final=1e4):
    """Smith and Topin 2018 with cosines: up to the maximum in 30 % of the steps, then down."""
    top = peak * total - 1
    start, end, progress = (
        (1 / divisor, 1, (n - 1) / top)
        if n - 1 <= top
        else (1, 1 / divisor / final, (n - 1 - top) / (total - 1 - top))
    )
    return end + (start - end) / 2 * (1 + math.cos(math.pi * progress))


def annealing(n, total, period=7):
    return (1 + math.cos(math.pi * (n - 1) / period)) / 2


def from_conf(name, **options):
    return build(OmegaConf.load(ROOT / "conf/scheduler" / f"{name}.yaml"), **options)


def each_epoch(formula):
    """By the number of the epoch, of five steps, in the place of that of the step."""
    return lambda n, total: formula((n + 4) // 5, total // 5)


def sequence(n, total):
    """Up to the maximum in two, then down."""
    return n / 3 if n < 3 else 0.9 ** (n - 3)


TORCH = torch.optim.lr_scheduler
PARTS = [partial(TORCH.LinearLR, total_iters=2), partial(TORCH.ExponentialLR, gamma=0.9)]
SEQUENCE = partial(TORCH.SequentialLR, schedulers=PARTS, milestones=[2])
CHAIN = partial(TORCH.ChainedScheduler, schedulers=PARTS)
ANNEALING, STEPS = partial(TORCH.CosineAnnealingLR, T_max=7), partial(TORCH.StepLR, step_size=1)
SCHEDULES = {
    "warmup_cosine": (from_conf("warmup_cosine", warmup_steps=4, min_lr_ratio=0.1), cosine),
    "constant": (from_conf("constant", warmup_steps=4), lambda n, total: min(n / 4, 1)),
    "one_cycle": (partial(TORCH.OneCycleLR, max_lr=0.5), one_cycle),
    "annealing": (ANNEALING, each_epoch(annealing)),
    "annealing of steps": (partial(ANNEALING, interval="step"), annealing),
    "steps": (STEPS, each_epoch(lambda n, total: 0.1 ** (n - 1))),
    "triangle": (partial(TORCH.CyclicLR, base_lr=0, max_lr=0.5, step_size_up=20, cycle_momentum=False),
                 lambda n, total: (n - 1) / 20),
    "warmup of epochs": (from_conf("constant", warmup_steps=4, interval="epoch"), each_epoch(lambda n, total: n / 4)),
    "sequence": (SEQUENCE, each_epoch(sequence)),
    "sequence of steps": (partial(SEQUENCE, interval="step"), sequence),
    "chain": (CHAIN, each_epoch(lambda n, total: min(n / 3, 1) * 0.9 ** (n - 1))),
    "own warmup first": (partial(SEQUENCE, schedulers=[partial(warmup_constant, warmup_steps=4), PARTS[1]], milestones=[4]),
                         lambda n, total: n / 4 if n < 5 else 0.9 ** (n - 5)),
}  # fmt: skip


class Rates(BorderCallback):
    """Keeps the rate of each step, and saves a checkpoint where a run can go on after one of them."""

    def __init__(self, path, step):
        self.path, self.step, self.rates = path, step, {}

    def on_before_optimizer_step(self, trainer, module, optimizer):
        self.rates[trainer.global_step + 1] = optimizer.param_groups[0]["lr"]

    def at_border(self, trainer, *, epoch_ends=False):
        if trainer.global_step == self.step and self.path is not None:
            trainer.save_checkpoint(self.path)

    def after_border(self, trainer):
        pass


def rates_of(
    schedule, epochs, path=None, step=None, ckpt_path=None, module_class=TranslationModule, **options
):
    pairs = [("a b", "b a"), ("b", "a"), ("a", "b")] * 3
    data = PairsCorpus(train=pairs, validation=pairs[:1], batch_size=2)  # five steps an epoch
    sizes = {
        "source_vocab_size": data.prepared.source_tokenizer.vocab_size,
        "target_vocab_size": data.prepared.target_tokenizer.vocab_size,
    }
    module = module_class(model_of(**sizes).train(), partial(torch.optim.Adam, lr=0.5), schedule)
    seen = Rates(path, step)
    options = TRAINER | {"enable_checkpointing": True} | options
    pl.Trainer(**options, max_epochs=epochs, callbacks=[ResumeState(), seen]).fit(
        module, data, ckpt_path=ckpt_path, weights_only=True
    )
    return seen.rates


def test_each_schedule_of_the_configuration_is_tested_here():
    files = {path.stem for path in (ROOT / "conf/scheduler").glob("*.yaml")}
    assert files - SCHEDULES.keys() == {"plateau"}


@pytest.mark.parametrize("name", SCHEDULES)
def test_each_step_has_the_rate_of_the_formula_also_in_a_run_that_continues(name, tmp_path, capsys):
    schedule, formula = SCHEDULES[name]
    expected = {n: pytest.approx(0.5 * formula(n, 10), rel=1e-9) for n in range(1, 11)}
    for step in random.Random(name).sample(range(1, 10), 2):
        path = tmp_path / f"{step}.ckpt"
        assert rates_of(schedule, 2, path, step) == expected
        assert rates_of(schedule, 2, ckpt_path=path) == {n: expected[n] for n in range(step + 1, 11)}
        assert "WARNING" not in capsys.readouterr().err
        longer = rates_of(schedule, 3, ckpt_path=path)
        longer.pop(step + 1)  # its rate is in the checkpoint
        assert longer == {n: pytest.approx(0.5 * formula(n, 15), rel=1e-9) for n in range(step + 2, 16)}
        says = "was of 10 steps and is now of 15" in capsys.readouterr().err
        assert says == (name in ("warmup_cosine", "one_cycle"))


LOSSES = [random.Random(7).choice([3.0, 2.0, 1.0, math.nan]) for _ in range(21)]


class Scripted(TranslationModule):
    """Its validations have a loss by the step."""

    def on_validation_epoch_end(self):
        self.log("val/loss", LOSSES[self.trainer.global_step])


@pytest.mark.parametrize("every", [2, 5])
def test_the_rate_is_halved_after_validations_that_are_no_better(every, tmp_path):
    """With `scheduler=plateau`: after more than `patience` of them, counted again from there."""
    schedule = from_conf("plateau", patience=1, factor=0.5)
    rate, best, num_worse, expected = 0.5, math.inf, 0, {}
    for n in range(1, 21):  # epochs of five steps
        expected[n] = pytest.approx(rate)
        if ((n - 1) % 5 + 1) % every == 0:
            is_better = LOSSES[n] < best
            best, num_worse = (LOSSES[n], 0) if is_better else (best, num_worse + 1)
            if num_worse == 2:
                rate, num_worse = rate / 2, 0
    assert rate < 0.5
    options = {"module_class": Scripted, "limit_val_batches": 1, "val_check_interval": every}
    step, path = {2: 13, 5: 9}[every], tmp_path / "begun.ckpt"
    assert rates_of(schedule, 4, path, step, **options) == expected
    after = {n: expected[n] for n in range(step + 1, 21)}
    assert rates_of(schedule, 4, ckpt_path=path, **options) == after


def test_a_run_continues_with_a_schedule_that_does_not_know_the_number_of_steps(tmp_path):
    path, constant = tmp_path / "3.ckpt", SCHEDULES["constant"][0]
    rates_of(SCHEDULES["warmup_cosine"][0], 1, path, 3)
    assert rates_of(constant, 2, ckpt_path=path)[10] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("schedule", "named"),
    [
        (partial(TORCH.ReduceLROnPlateau, mode="max"), "mode=max"),
        (partial(TORCH.ReduceLROnPlateau, interval="step"), "interval"),
        (partial(SEQUENCE, milestones=[2, 4]), "milestone"),
        (partial(SEQUENCE, schedulers=[PARTS[0], TORCH.ReduceLROnPlateau]), "ReduceLROnPlateau"),
        (partial(TORCH.OneCycleLR, max_lr=0.5, total_steps=3), "3"),  # of five steps
    ],
)
def test_a_schedule_that_cannot_be_followed_is_refused_before_the_first_step(schedule, named):
    with pytest.raises(InputError, match=f"scheduler.*{named}"):
        rates_of(schedule, 1)


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        (partial(TORCH.ExponentialLR, gamma=0.8), "each epoch (interval)"),
        (partial(TORCH.ExponentialLR, gamma=0.8, interval="step"), "each step (interval)"),
        (partial(warmup_constant, warmup_steps=2), None),
        (partial(TORCH.ReduceLROnPlateau, patience=1), None),
    ],
)
def test_a_line_says_what_a_schedule_of_pytorch_counts(schedule, told, capsys):
    rates_of(schedule, 1)
    said = capsys.readouterr().out
    assert (told in said) if told else "scheduler" not in said


def test_a_schedule_that_needs_a_length_has_one_or_is_refused():
    with pytest.raises(InputError, match="a constant rate"):
        rates_of(partial(warmup_cosine, warmup_steps=2), -1, max_time="00:00:00:09")
    given = partial(warmup_cosine, warmup_steps=2, total_steps=5)
    assert rates_of(given, 2)[9] == pytest.approx(0.005)  # the minimum, after five steps


def test_a_training_that_is_shorter_than_the_warmup_says_so(capsys):
    assert rates_of(partial(warmup_cosine, warmup_steps=10), 1) == {
        n: pytest.approx(0.05 * n) for n in range(1, 6)
    }
    assert "scheduler.warmup_steps=10" in capsys.readouterr().err
    assert rates_of(partial(warmup_cosine, warmup_steps=0, min_lr_ratio=0.2), 1)[5] == pytest.approx(0.1)
