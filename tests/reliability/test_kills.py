"""Runs of many kinds that are killed, stopped, moved or copied come to the result of an undisturbed run.

``KILLS`` (3) is the number of kills of each run, ``KILL_SEED`` (0) draws their moments.
"""

import os
import re
import shutil
import signal
import time

import pytest
import torch

from tests.reliability.test_reliability import KILL, RUN, assert_same_result, killed_until_done, series

KILLS, SEED = int(os.environ.get("KILLS", "3")), int(os.environ.get("KILL_SEED", "0"))
BASE = [
    *(each for each in RUN if not each.startswith(("scheduler.", "trainer.max_", "data.max_"))),
    "data.max_examples=28", "experiment_name=baseline", "callbacks.attention.heatmaps=0", "callbacks.attention.sentences=2",
]  # fmt: skip
"""Epochs of seven steps."""
CONSTANT = ["scheduler=constant", "scheduler.warmup_steps=0"]
WORSE = [*CONSTANT, "optimizer.lr=0.05", "trainer.max_epochs=4"]


def sides(key, name):
    """Overrides of the files of a corpus of the fixture `texts`."""
    return [
        f"{key}{split}.{side}=TEXTS/{name}.{side}"
        for split in ("train", "validation")
        for side in ("source", "target")
    ]


KINDS = {
    "worsening": WORSE,
    "three best": [*WORSE, "+callbacks.checkpoint.save_top_k=3", "callbacks.checkpoint.monitor=val/token_accuracy"],
    "plateau": ["scheduler=plateau", "scheduler.patience=0", "optimizer.lr=0.05", "trainer.max_epochs=4"],
    "sequence": ["scheduler._target_=torch.optim.lr_scheduler.SequentialLR", "trainer.max_epochs=4", "+scheduler.milestones=[2]",
                 "+scheduler.schedulers=[{_target_: torch.optim.lr_scheduler.LinearLR, _partial_: true},"
                 "{_target_: torch.optim.lr_scheduler.ExponentialLR, _partial_: true, gamma: 0.5}]"],
    "early stopping": [*WORSE, "callbacks=early_stopping", "callbacks.early_stopping.patience=1",
                       "callbacks.early_stopping.monitor=val/chrf", "trainer.max_epochs=8"],
    "early stopping within an epoch": [*WORSE, "callbacks=early_stopping", "callbacks.early_stopping.patience=2",
                                       "trainer.val_check_interval=3", "averaging=ema"],
    "validations": [*CONSTANT, "trainer.max_epochs=2", "trainer.val_check_interval=5"],
    "validations over epochs": [*CONSTANT, "trainer.max_epochs=3", "trainer.val_check_interval=5",
                                "trainer.check_val_every_n_epoch=null"],
    "validations and plateau": ["scheduler=plateau", "scheduler.patience=0", "optimizer.lr=0.05",
                                "trainer.max_epochs=3", "trainer.val_check_interval=4"],
    "max_steps": ["trainer.max_steps=17", "trainer.max_epochs=-1", "scheduler.warmup_steps=5"],
    "accumulation": [*CONSTANT, "trainer.max_epochs=3", "trainer.accumulate_grad_batches=5",
                     "callbacks.periodic.every_n_train_steps=1"],
    "accumulation by the epoch": [*CONSTANT, "trainer.max_epochs=3", "callbacks.periodic.every_n_train_steps=1",
                                  "+callbacks.more._target_=lightning.pytorch.callbacks.GradientAccumulationScheduler",
                                  "+callbacks.more.scheduling={0:1,1:3}"],
    "accumulation and validations": [*CONSTANT, "trainer.max_epochs=2", "trainer.accumulate_grad_batches=3",
                                     "trainer.val_check_interval=4", "callbacks.periodic.every_n_train_steps=1"],
    "ema": [*WORSE, "averaging=ema", "callbacks.averaging.decay=0.9", "trainer.val_check_interval=5"],
    "groups": [*CONSTANT, "trainer.max_epochs=3", "+optimizer.groups=[{pattern: encoder, lr: 0.05, frozen: 2}]",
               "+optimizer.decay_vectors=false"],
    "rate finder": [*CONSTANT, "trainer.max_epochs=2", "callbacks=lr_finder", "callbacks.lr_finder.num_training_steps=14",
                    "callbacks.lr_finder.min_lr=1e-3"],
    "new tokens": [*CONSTANT, "trainer.max_epochs=3", "data=parallel", "data.source_language=en", "data.target_language=fr",
                   *sides("data.", "many"), "init_from=TEXTS/runs/baseline/earlier", "data.new_tokens=20"],
    "shares": [*CONSTANT, "trainer.max_epochs=3", "data=multi", "data.temperature=5", *sides("+data.corpora.en-fr.", "few"),
               *sides("+data.corpora.en-de.", "many")],
    "word dropout": [*CONSTANT, "trainer.max_epochs=2", "module.word_dropout=0.1"],
    "sampled subwords": [*CONSTANT, "trainer.max_epochs=2", "tokenizer=unigram", "data.tokenizer.vocab_size=330",
                         "data.tokenizer.sampling=0.3", "data.num_workers=2"],
    "two processes": [*CONSTANT, "trainer.max_epochs=2", "device=ddp", "trainer.accelerator=cpu",
                      "data.batch_size=2"],
    "two processes and accumulation": [*CONSTANT, "trainer.max_epochs=2", "device=ddp", "trainer.accelerator=cpu",
                                       "data.batch_size=2", "trainer.accumulate_grad_batches=3"],
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


ONCE = "groups", "rate finder", "new tokens", "shares"
CASES = [
    *((kind, "killed") for kind in KINDS),
    *(
        (kind, how)
        for kind in ("worsening", "three best", "ema", "validations")
        for how in ("moved", "copied")
    ),
    *((kind, how) for kind in KINDS if kind not in ONCE for how in ("SIGTERM", "SIGINT")),
]


@pytest.fixture(scope="module")
def texts(program, tmp_path_factory):
    """A folder of two corpora, and of a model of the smaller one."""
    folder = tmp_path_factory.mktemp("texts")
    for name, words, times in (("few", "abcd", 2), ("many", "abcdefghij", 3)):
        lines = [f"{one} {two} ." for one in words for two in words][: 14 * times]
        for side, step in (("source", 1), ("target", -1)):
            (folder / f"{name}.{side}").write_text("".join(f"{line[::step].strip()}\n" for line in lines))
    early = "data=parallel", "data.source_language=en", "data.target_language=fr", *sides("data.", "few")
    run = *BASE, *CONSTANT, *early, "name=earlier", "trainer.max_epochs=1"
    program(*(each.replace("TEXTS", str(folder)) for each in run), cwd=folder, check=0)
    return folder


@pytest.fixture(scope="module")
def undisturbed(texts, program, tmp_path_factory):
    """Returns the overrides and the folder of an undisturbed run of a kind, and how long it took."""
    made = {}

    def run(kind):
        if kind not in made:
            folder, start = tmp_path_factory.mktemp("whole"), time.monotonic()
            keys = [*BASE, *(each.replace("TEXTS", str(texts)) for each in KINDS[kind])]
            program(*keys, "name=run", cwd=folder, check=0, timeout=600)
            made[kind] = keys, folder / "runs/baseline/run", time.monotonic() - start
        return made[kind]

    return run


def assert_same(kind, whole, other):
    """The results are the same, and the model that is kept is the best."""
    assert_same_result(whole, other)
    one, two = (torch.load(each / "checkpoints/best.ckpt", weights_only=True) for each in (whole, other))
    assert one["global_step"] == two["global_step"]
    monitored, best = ("val/token_accuracy", max) if kind == "three best" else ("val/loss", min)
    values = dict(series(whole)[monitored])
    assert values[one["global_step"]] == best(values.values())
    names = [path.name for path in (whole / "checkpoints").iterdir()]
    assert len(names) == (6 if kind == "three best" else 3), names  # last, the one before, best


@LONG
@pytest.mark.parametrize(("kind", "how"), CASES)
def test_a_disturbed_run_comes_to_the_same_result(undisturbed, launch, tmp_path, kind, how):
    keys, whole, seconds = undisturbed(kind)
    number = getattr(signal, how, signal.SIGKILL)
    between = {"moved": moved, "copied": copied}.get(how)
    (tmp_path / "here").mkdir()
    folder, statuses = killed_until_done(
        launch, tmp_path / "here", seconds, number, SEED + sum(map(ord, kind + how)), KILLS,
        keys, between,
    )  # fmt: skip
    print(f"{kind}, {how}: {statuses}")
    assert_same(kind, whole, folder / "runs/baseline/run")


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "moment", "number", "between"),
    [
        ("three best", "on_train_batch_start 22", signal.SIGKILL, moved),  # in the fourth epoch
        (
            "validations and plateau",
            "on_train_batch_start 5",
            signal.SIGKILL,
            None,
        ),  # a validation is behind it
        ("accumulation and validations", "on_train_batch_start 1", signal.SIGTERM, None),  # within a step
        ("early stopping", "on_fit_end any", signal.SIGKILL, copied),  # trained, but not scored
        ("early stopping within an epoch", "on_fit_end any", signal.SIGKILL, None),
    ],
)
def test_a_run_that_is_stopped_at_a_place_comes_to_the_same_result(
    undisturbed, program, tmp_path, kind, moment, number, between
):
    folder, run = tmp_path / "here", [*BASE, *KINDS[kind], "name=run", "+callbacks.kill._target_=kill.Kill"]
    folder.mkdir()
    (folder / "kill.py").write_text(KILL)
    done = program(*run, cwd=folder, KILL_AT=moment, NUMBER=str(int(number)))
    assert done.status in (-signal.SIGKILL, 128 + number), done.text
    folder = folder if between is None else between(folder)
    program(*run, cwd=folder, check=0)
    assert_same(kind, undisturbed(kind)[1], folder / "runs/baseline/run")


@LONG
@pytest.mark.parametrize("rank", ["0", "1", None])
@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("on_after_backward 1", signal.SIGTERM),  # between the batches of the second step
        ("on_after_backward 4", signal.SIGINT),  # in the second epoch
        ("on_sanity_check_start 0", signal.SIGTERM),
        ("on_train_end 6", signal.SIGTERM),
    ],
)
def test_two_processes_that_are_stopped_come_to_the_same_result(
    undisturbed, program, tmp_path, moment, number, rank
):
    """The signal reaches one of them, or both."""
    kind = "two processes and accumulation"
    run = [*BASE, *KINDS[kind], "name=run", "+callbacks.kill._target_=kill.Kill"]
    (tmp_path / "kill.py").write_text(KILL)
    ranks = {} if rank is None else {"KILL_RANK": rank}
    done = program(*run, cwd=tmp_path, timeout=600, KILL_AT=moment, NUMBER=str(int(number)), **ranks)
    # the first process, which ends the program, learns of a signal of another one, not which it was
    assert done.status == 128 + (signal.SIGTERM if rank == "1" else number), done.text
    assert "the same command continues" in done.text
    assert "Traceback" not in done.text
    program(*run, cwd=tmp_path, check=0, timeout=600)
    assert_same(kind, undisturbed(kind)[1], tmp_path / "runs/baseline/run")


STOP = """
import os, time
from types import SimpleNamespace
import lightning.pytorch.callbacks.timer as timer
from lightning.pytorch.callbacks import Callback

class Stop(Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if "STOP" in os.environ and trainer.current_epoch == 0 and batch_idx == 3:
            trainer.should_stop = os.environ["STOP"] == "asked"
            if os.environ["STOP"] == "time":
                timer.time = SimpleNamespace(monotonic=lambda: time.monotonic() + 1e5)
"""


@pytest.mark.long
@pytest.mark.parametrize("more", [[], ["trainer.accumulate_grad_batches=3"], ["trainer.limit_val_batches=0"]])
@pytest.mark.parametrize("ends", ["time", "asked"])
def test_a_run_that_was_ended_within_an_epoch_is_trained_longer_as_if_it_had_not_been(
    program, tmp_path, ends, more
):
    """By `trainer.max_time`, or by early stopping or another callback that asks for it."""
    (tmp_path / "stop.py").write_text(STOP)
    run = [*BASE, *CONSTANT, "averaging=ema", *more, "+callbacks.stop._target_=stop.Stop"]
    shorter = ["trainer.max_time=00:01:00:00"] if ends == "time" else ["trainer.max_epochs=1"]
    first = program(*run, "trainer.max_epochs=2", *shorter, "name=two", cwd=tmp_path, check=0, STOP=ends)
    again = program(*run, "trainer.max_epochs=2", *shorter, "name=two", cwd=tmp_path, check=0)
    assert "is finished" in again.text
    step, of_epoch = (2, 3) if "trainer.accumulate_grad_batches=3" in more else (4, 7)
    total = of_epoch * (2 if ends == "time" else 1)
    ended = re.search(f"^ended .*step {step} of {total}, .*", first.text, re.MULTILINE)[0]
    assert ended in again.text
    assert ("trainer.max_time" in ended) == (ends == "time")
    done = program(*run, "trainer.max_epochs=2", "name=two", cwd=tmp_path, check=0)
    assert "is finished" not in done.text
    assert "WARNING" not in done.text
    program(*run, "trainer.max_epochs=2", "name=whole", cwd=tmp_path, check=0)
    one, two = (
        torch.load(tmp_path / f"runs/baseline/{name}/checkpoints/last.ckpt", weights_only=True)
        for name in ("whole", "two")
    )
    assert one["global_step"] == two["global_step"]
    assert all(torch.equal(value, two["state_dict"][name]) for name, value in one["state_dict"].items())
    assert ("max_time" in first.text) == (ends == "time")
