import pytest
import torch

from seq2seq.training.interruption import StopWithoutProgress
from seq2seq.training.optimisation import Optimisation


def optimisation(**changes):
    base = {
        "optimiser": "adam",
        "learning_rate": 0.5,
        "weight_decay": 0.0,
        "schedule": "cosine",
        "warmup_steps": 4,
        "total_steps": 20,
        "final_fraction": 0.1,
        "plateau_factor": 0.5,
        "plateau_patience": 1,
        "monitor": "validation/loss",
        "monitor_mode": "min",
    }
    return Optimisation(**{**base, **changes})


def test_warm_up_grows_evenly_to_the_full_rate():
    fractions = [optimisation().rate_fraction(step) for step in range(5)]
    assert fractions == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])


def test_the_cosine_falls_to_its_final_fraction_and_stays():
    fractions = [optimisation().rate_fraction(step) for step in range(4, 30)]
    assert fractions == sorted(fractions, reverse=True)
    assert fractions[8] == pytest.approx(0.55)
    assert fractions[16:] == pytest.approx([0.1] * 10)


def test_a_constant_rate_stays():
    constant = optimisation(schedule="constant", warmup_steps=0)
    assert {constant.rate_fraction(step) for step in range(50)} == {1.0}


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_the_schedule_drives_the_optimiser(name):
    chosen = optimisation(optimiser=name)
    optimiser = chosen.build_optimiser([torch.nn.Parameter(torch.zeros(1))])
    schedule = chosen.build_step_schedule(optimiser)
    assert optimiser.param_groups[0]["lr"] == pytest.approx(0.125)
    optimiser.step()
    schedule.step()
    assert optimiser.param_groups[0]["lr"] == pytest.approx(0.25)


def rates_after(patience, losses):
    chosen = optimisation(schedule="plateau", warmup_steps=0, plateau_patience=patience)
    optimiser = chosen.build_optimiser([torch.nn.Parameter(torch.zeros(1))])
    schedule = chosen.build_plateau_schedule(optimiser)
    rates = []
    for loss in losses:
        schedule.step(loss)
        rates.append(optimiser.param_groups[0]["lr"])
    return rates


def validations_until_stopped(patience, losses):
    stop = StopWithoutProgress("validation/loss", mode="min", patience=patience)
    stopped = (stop._evaluate_stopping_criteria(torch.tensor(loss))[0] for loss in losses)
    return list(stopped).index(True)


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_a_plateau_is_as_many_validations_without_progress_as_early_stopping_waits_for(patience):
    losses = [4.0, 3.0, *[3.0] * patience]
    rates = rates_after(patience, losses)
    assert rates == [0.5] * (len(losses) - 1) + [0.25]
    assert validations_until_stopped(patience, losses) == len(losses) - 1


def test_progress_is_progress_however_small():
    assert set(rates_after(1, [3.0 - 1e-5 * step for step in range(9)])) == {0.5}
