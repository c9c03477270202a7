"""A resumed run in TensorBoard: every tag strictly increasing, in both of its loaders."""

import signal
from itertools import pairwise

import pytest

from seq2seq.application.run import run
from seq2seq.errors import TrainingInterrupted
from seq2seq.training.module import TranslationModule
from tests.loaders import CONTEXT, LOADERS, flags_of, provider_of

KEEP_ALL = "--samples_per_plugin=scalars=0,images=0,text=0"


def steps_of(provider):
    """The steps of every tag, as TensorBoard's tabs see them."""
    found = {}
    readers = {
        "scalars": provider.read_scalars,
        "text": provider.read_tensors,
        "attention": provider.read_tensors,
        "images": provider.read_blob_sequences,
    }
    for plugin, read in readers.items():
        runs = read(CONTEXT, experiment_id="", plugin_name=plugin, downsample=10_000)
        for series in runs.values():
            found |= {tag: [datum.step for datum in data] for tag, data in series.items()}
    return found


def crash_at_step(monkeypatch, step):
    training_step = TranslationModule.training_step

    def crashing(self, batch, batch_index):
        if self.global_step == step:
            raise RuntimeError("the power went out")
        return training_step(self, batch, batch_index)

    monkeypatch.setattr(TranslationModule, "training_step", crashing)
    return RuntimeError


def signal_at_step(monkeypatch, step):
    training_step = TranslationModule.training_step

    def interrupted(self, batch, batch_index):
        if self.global_step == step - 1:
            signal.raise_signal(signal.SIGINT)
        return training_step(self, batch, batch_index)

    monkeypatch.setattr(TranslationModule, "training_step", interrupted)
    return TrainingInterrupted


@pytest.mark.parametrize(
    ("stop", "step"),
    [(crash_at_step, 12), (signal_at_step, 11), (signal_at_step, 8)],
    ids=["crash", "signal", "signal at the end of an epoch"],
)
def test_every_tag_of_a_resumed_run_is_strictly_increasing(tiny, tmp_path, monkeypatch, stop, step):
    folder = tmp_path / "run"
    overrides = ["trainer.log_every=1", "data.test_pairs=1", "tensorboard.panel.first=2"]
    with monkeypatch.context() as patched:
        error = stop(patched, step)
        with pytest.raises(error):
            run(tiny(*overrides), folder)
    run(tiny(*overrides), folder)
    for loader in LOADERS:
        with provider_of(loader, flags_of(tmp_path, KEEP_ALL)) as provider:
            steps = steps_of(provider)
        # the step of a signal ends before its training values are written
        assert {*range(1, 17)} - {*steps["train/loss"]} <= {step}, loader
        for tag in ("attention/0/forced", "attention/1/greedy", "attention/0", "validation/bleu"):
            assert steps[tag][-1] == 16, (loader, tag)
        for tag, found in steps.items():
            assert all(first < second for first, second in pairwise(found)), (loader, tag, found)
