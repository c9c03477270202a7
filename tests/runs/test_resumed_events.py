"""A resumed run in TensorBoard: every tag strictly increasing, in both of its loaders."""

from itertools import pairwise

import pytest

from seq2seq.errors import TrainingInterrupted
from seq2seq.runs.run import run
from tests.loaders import CONTEXT, LOADERS, flags_of, provider_of
from tests.stops import crash, ctrl_c, stopped_after

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


@pytest.mark.parametrize(
    ("stop", "error", "step"),
    [
        (crash, RuntimeError, 13),
        (ctrl_c, TrainingInterrupted, 11),
        (ctrl_c, TrainingInterrupted, 8),
    ],
    ids=["crash", "signal", "signal at the end of an epoch"],
)
def test_every_tag_of_a_resumed_run_is_strictly_increasing(tiny, tmp_path, stop, error, step):
    folder = tmp_path / "run"
    overrides = ["trainer.log_every=1", "data.test_pairs=1", "tensorboard.panel.first=2"]
    overrides.append("tensorboard.draw_every=3")
    with stopped_after(step - 1, stop), pytest.raises(error):
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
