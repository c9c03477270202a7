"""Schedules and averages of weights against their formulas."""

import math

import pytest
import torch
from torch.optim.swa_utils import AveragedModel

from seq2seq.training import warmup_constant, warmup_cosine, warmup_ema


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


@pytest.mark.parametrize(
    ("step", "fraction"), [(0, 0.1), (9, 1.0), (10, 1.0), (60, 0.505), (110, 0.01), (200, 0.01)]
)
def test_the_rate_grows_and_follows_a_cosine(step, fraction):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    schedule = warmup_cosine(optimizer, total_steps=110, warmup_steps=10, min_lr_ratio=0.01)
    for _ in range(step):
        optimizer.step()
        schedule.step()
    assert math.isclose(optimizer.param_groups[0]["lr"], 2 * fraction, rel_tol=1e-9)


def test_the_rate_grows_and_stays():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    schedule, rates = warmup_constant(optimizer, warmup_steps=4), []
    for _ in range(6):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.0, 2.0])
