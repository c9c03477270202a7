"""Runs of many kinds that are killed, stopped, moved or copied come to the result of an undisturbed run.

``KILLS`` (3) is the number of kills of a run, ``KILL_SEED`` (0) draws their moments.
"""

import os
import shutil
import signal
import time

import pytest
import torch

from tests.reliability.test_reliability import RUN, assert_same_result, killed_until_done

KILLS, SEED = int(os.environ.get("KILLS", "3")), int(os.environ.get("KILL_SEED", "0"))
BASE = [
    *(each for each in RUN if not each.startswith(("scheduler.", "trainer.max_", "data.max_"))),
    "data.max_examples=28", "callbacks.attention.heatmaps=0", "callbacks.attention.sentences=2",
]  # fmt: skip
"""Epochs of seven steps."""
CONSTANT = ["scheduler=constant", "scheduler.warmup_steps=0"]
WORSE = [*CONSTANT, "optimizer.lr=0.05", "trainer.max_epochs=4"]
KINDS = {
    "worsening": WORSE,
    "three best": [*WORSE, "+callbacks.checkpoint.save_top_k=3", "callbacks.checkpoint.monitor=val/accuracy"],
    "plateau": ["scheduler=plateau", "scheduler.patience=0", "optimizer.lr=0.05", "trainer.max_epochs=4"],
    "early stopping": [*WORSE, "callbacks=early_stopping", "callbacks.early_stopping.patience=1",
                       "callbacks.early_stopping.monitor=val/chrf", "trainer.max_epochs=8"],
    "validations": [*CONSTANT, "trainer.max_epochs=2", "+trainer.val_check_interval=5"],
    "validations over epochs": [*CONSTANT, "trainer.max_epochs=3", "+trainer.val_check_interval=5",
                                "trainer.check_val_every_n_epoch=null"],
    "validations and plateau": ["scheduler=plateau", "scheduler.patience=0", "optimizer.lr=0.05",
                                "trainer.max_epochs=3", "+trainer.val_check_interval=4"],
    "max_steps": ["trainer.max_steps=17", "trainer.max_epochs=-1", "scheduler.warmup_steps=5"],
    "accumulation": [*CONSTANT, "trainer.max_epochs=3", "trainer.accumulate_grad_batches=5",
                     "callbacks.periodic.every_n_train_steps=1"],
    "accumulation and validations": [*CONSTANT, "trainer.max_epochs=2", "trainer.accumulate_grad_batches=3",
                                     "+trainer.val_check_interval=4", "callbacks.periodic.every_n_train_steps=1"],
    "ema": [*WORSE, "averaging=ema", "ema_decay=0.9", "+trainer.val_check_interval=5"],
    "epoch mean": [*WORSE, "averaging=epoch_mean", "callbacks.averaging.start_epoch=2"],
    "rdrop": [*CONSTANT, "trainer.max_epochs=2", "module.rdrop_alpha=1", "module.word_dropout=0.1"],
    "sampled subwords": [*CONSTANT, "trainer.max_epochs=2", "tokenizer=unigram", "data.tokenizer.vocab_size=90",
                         "data.tokenizer.sampling=0.3"],
    "two processes": [*CONSTANT, "trainer.max_epochs=2", "device=ddp", "trainer.accelerator=cpu",
                      "data.batch_size=2"],
}  # fmt: skip
LONG = pytest.mark.long


def moved(folder):
    """Move the runs elsewhere."""
    return folder.rename(folder.with_name(f"{folder.name}-moved"))


def copied(folder):
    """Copy the runs, and spoil what is left behind."""
    other = shutil.copytree(folder, folder.with_name(f"{folder.name}-copy"))
    for path in folder.rglob("*.ckpt"):
        path.write_bytes(b"another run")
    return other


CASES = [
    *((kind, "killed") for kind in KINDS),
    *(
        (kind, how)
        for kind in ("worsening", "three best", "ema", "validations")
        for how in ("moved", "copied")
    ),
    *((kind, how) for kind in KINDS for how in ("SIGTERM", "SIGINT")),
]
FAST = [
    ("worsening", "moved"),
    ("validations and plateau", "killed"),
    ("accumulation and validations", "SIGTERM"),
]


@pytest.fixture(scope="module")
def undisturbed(program, tmp_path_factory):
    """Returns the folder of an undisturbed run of a kind, and how long it took."""
    made = {}

    def run(kind):
        if kind not in made:
            folder, start = tmp_path_factory.mktemp("whole"), time.monotonic()
            program(*BASE, *KINDS[kind], "name=run", cwd=folder, check=0, timeout=600)
            made[kind] = folder / "runs/baseline/run", time.monotonic() - start
        return made[kind]

    return run


@pytest.mark.parametrize(
    ("kind", "how"), [pytest.param(*case, marks=() if case in FAST else LONG) for case in CASES]
)
def test_a_disturbed_run_comes_to_the_same_result(undisturbed, launch, tmp_path, kind, how):
    whole, seconds = undisturbed(kind)
    number = getattr(signal, how, signal.SIGKILL)
    between = {"moved": moved, "copied": copied}.get(how)
    most = KILLS if (kind, how) not in FAST or "KILLS" in os.environ else 1
    run = [*BASE, *KINDS[kind]]
    (tmp_path / "here").mkdir()
    folder, statuses = killed_until_done(
        launch, tmp_path / "here", seconds, number, SEED + sum(map(ord, kind + how)), most, run, between
    )
    print(f"{kind}, {how}: {statuses}")
    other = folder / "runs/baseline/run"
    assert_same_result(whole, other)
    names = sorted(path.name for path in (whole / "checkpoints").iterdir())
    assert {"last.ckpt", "best.ckpt"} <= {*names}
    one, two = (torch.load(each / "checkpoints/best.ckpt", weights_only=True) for each in (whole, other))
    assert one["global_step"] == two["global_step"]
