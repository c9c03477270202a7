"""Part 1: a run that was stopped anywhere and continued leaves what an undisturbed run leaves."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from seq2seq.training.module import TranslationModule
from tests.torture.comparison import differences, left_by
from tests.torture.victims import batches_of, log_of, record_batches, run_child

CONFIGURATIONS = {
    "plain": [],
    "accumulate": ["trainer.accumulate=3"],
    "bf16": ["device.precision=bf16-mixed"],
    "plateau": ["optim.schedule=plateau", "optim.warmup_steps=0", "optim.plateau_patience=1"],
    "early_stopping": ["trainer.early_stopping=1", "trainer.max_epochs=4", "trainer.monitor=bleu"],
    "max_steps": ["trainer.max_steps=13"],
    "rare_validation": ["trainer.validate_every=2", "trainer.max_epochs=4"],
    "subwords": ["data.tokenizer.name=bpe", "data.tokenizer.max_size=380"],
    "deep": ["model.num_layers=2", "model.dropout=0.3", "attention.dropout=0.2"],
    "by_tokens": ["trainer.batch_sentences=null", "trainer.batch_tokens=160"],
    "often_saved": ["trainer.checkpoint_every=2"],
    "average": ["optim.averaging=ema", "optim.ema_decay=0.9"],
    "average_of_epochs": ["optim.averaging=epochs", "optim.average_from_epoch=1"],
    "sampled_subwords": [
        "data.tokenizer.name=unigram",
        "data.tokenizer.max_size=380",
        "data.tokenizer.sampling=0.2",
    ],
}
"""One line each: what is to resume exactly. (Batches are made in the training process itself, in
less than a millisecond, so there are no loader workers to try.)"""

Stop = tuple[str, int, int]
"""Where to stop, in which epoch, at which batch: the signal comes while that batch is computed."""

POINTS: dict[str, list[Stop]] = {
    "first_batch": [("train", 0, 0)],
    "mid_epoch": [("train", 0, 4)],
    "last_batch": [("train", 0, 7)],
    "in_validation": [("validation", 0, 0)],
    "end_of_validation": [("validation", 1, 1)],
    "second_epoch": [("train", 1, 0)],
    "twice_in_one_epoch": [("train", 1, 2), ("train", 1, 5)],
    "killed": [("kill", 1, 3)],
    "asked_then_killed": [("ask", 0, 7), ("kill", 0, 0)],
}
"""(`ask`: SIGUSR1 at that batch, and a kill in the validation after it.)"""


def check_all(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Every configuration at every point; yields a name and what differs."""
    pairs = [(name, point) for name in CONFIGURATIONS for point in POINTS]
    count = max(round(share * len(pairs)), 1)
    step = len(pairs) / count
    for index in range(count):
        name, point = pairs[int(index * step)]
        yield f"{name}, {point}", check(folder, name, CONFIGURATIONS[name], POINTS[point])


def check(folder: Path, name: str, overrides: list[str], stops: list[Stop]) -> list[str]:
    """What differs between a stopped and an undisturbed run."""
    expected = undisturbed(folder, name, overrides)
    place = "_".join(f"{kind}-{epoch}-{batch}" for kind, epoch, batch in stops)
    found = folder / name / place / "run"
    for stop in stops:
        status = run_child(found, overrides, hook=lambda stop=stop: _prepare(found, stop))
        allowed = {"kill": (-9,), "ask": (-9,)}.get(stop[0], (128 + signal.SIGTERM,))
        if status not in (*allowed, 0):  # 0: the run ended before that batch
            return [f"exit status {status}: {log_of(found).read_text()[-2000:]}"]
    if not (found / "metrics.json").exists():
        _finish(found, overrides)
    if batches_of(_batches(expected)) != batches_of(_batches(found)):
        return ["the batches, or their losses"]
    return differences(left_by(expected), left_by(found))


def undisturbed(folder: Path, name: str, overrides: list[str]) -> Path:
    """A run that nobody stopped. It is made once."""
    run_dir = folder / name / "undisturbed" / "run"  # the title of the pictures
    if not run_dir.exists():
        _finish(run_dir, overrides)
    return run_dir


def _batches(run_dir: Path) -> Path:
    return run_dir.with_name(f"{run_dir.name}.batches")


def _finish(run_dir: Path, overrides: list[str]) -> None:
    status = run_child(run_dir, overrides, hook=lambda: record_batches(_batches(run_dir)))
    if status:
        raise AssertionError(f"exit status {status}: {log_of(run_dir).read_text()[-2000:]}")


def _prepare(run_dir: Path, stop: Stop) -> None:
    """In the child: record the batches, and send the signal at its place."""
    record_batches(_batches(run_dir))
    kind, epoch, batch = stop
    number = {"kill": signal.SIGKILL, "ask": signal.SIGUSR1}.get(kind, signal.SIGTERM)
    name = "validation_step" if kind == "validation" else "training_step"
    _signal_at(name, epoch, batch, number)
    if kind == "ask":
        _signal_at("validation_step", epoch, 1, signal.SIGKILL)


def _signal_at(name: str, epoch: int, batch: int, number: int) -> None:
    original = getattr(TranslationModule, name)

    def step(self, data, batch_index):
        if (self.current_epoch, batch_index) == (epoch, batch):
            os.kill(os.getpid(), number)
        return original(self, data, batch_index)

    setattr(TranslationModule, name, step)
