"""`callbacks=lr_finder` tells a rate and changes nothing."""

import re

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.conftest import TINY

FINDER = "callbacks=lr_finder", "callbacks.lr_finder.num_training_steps=14", "callbacks.lr_finder.min_lr=1e-3"
TAIL = (
    *(each for each in TINY if not each.startswith(("scheduler", "name", "decoding.beam", "callbacks."))),
    "data=grammar",
    "scheduler=constant",
    "decoding=greedy",
    "callbacks.attention=null",
    "callbacks.samples=null",
)


def test_a_rate_is_suggested_and_the_training_is_that_without_it_also_if_it_goes_on(program, tmp_path):
    def train(name, epochs, *more):
        keys = *TAIL, f"name={name}", f"trainer.max_epochs={epochs}", *more
        return program(*keys, cwd=tmp_path, check=0, timeout=400).text

    told = train("found", 1, *FINDER)
    (rate,) = re.findall(r"^note        lr_finder: optimizer.lr=(\S+) is suggested", told, re.MULTILINE)
    assert 1e-3 <= float(rate) <= 1
    found, plain = (tmp_path / "runs/baseline" / name for name in ("found", "plain"))
    assert not [*found.glob(".lr_find*")]
    assert "lr_finder" in EventAccumulator(str(found)).Reload().Tags()["images"]
    assert "lr_finder: " not in train("found", 2, *FINDER)
    train("plain", 2)
    assert (found / "model/model.safetensors").read_bytes() == (
        plain / "model/model.safetensors"
    ).read_bytes()
