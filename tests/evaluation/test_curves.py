"""Curves of settings over their seeds, for TensorBoard."""

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from torch.utils.tensorboard import SummaryWriter

from seq2seq.evaluation.curves import write_curves
from tests.program.test_compare import make_run


def log(folder, values):
    with SummaryWriter(str(folder)) as writer:
        for step, value in values.items():
            writer.add_scalar("val/bleu", value, step)
            writer.add_scalar("train/loss", value, step)


def curves_in(sweep):
    """The curves by the name of the setting, and the tags of its margin charts."""
    found = {}
    for folder in sweep.glob("settings/*"):
        events = EventAccumulator(str(folder)).Reload()
        scalars = {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}
        found[folder.name] = scalars, events.Tensors("custom_scalars__config__")
    return found


def test_runs_of_a_setting_are_a_curve_with_a_band(tmp_path):
    curves = {1: {0: 1.0, 10: 2.0, 20: 9.0}, 2: {0: 3.0, 10: 2.5}, 3: {0: 8.0, 10: 3.0, 20: 1.0}}
    for seed, values in curves.items():
        make_run(tmp_path / f"several-{seed}", seed, 0.9, kind="several")
        log(tmp_path / f"several-{seed}", values | {10: 7.0})
        log(tmp_path / f"several-{seed}", {10: values[10]})  # a training that continued repeated the step
    make_run(tmp_path / "one", 1, 0.5, kind="one")
    log(tmp_path / "one", curves[1])
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.yaml").write_text("seed: 1\nkind: begun\n")
    write_curves(tmp_path)
    ((name, (found, layout)),) = curves_in(tmp_path).items()
    assert name == "kind=several"
    assert found.keys() == {"val/bleu", "low/val/bleu", "high/val/bleu"}
    for step in (0, 10):
        values = [each[step] for each in curves.values()]
        assert found["val/bleu"][step] == pytest.approx(np.mean(values))
        half = (found["high/val/bleu"][step] - found["low/val/bleu"][step]) / 2
        assert half == pytest.approx(np.std(values, ddof=1), rel=1e-5)
    assert [*found["val/bleu"]] == [0, 10]  # one of the runs has no step 20
    (chart,) = Layout.FromString(layout[0].tensor_proto.string_val[0]).category[0].chart
    (series,) = chart.margin.series
    assert (series.value, series.lower, series.upper) == ("val/bleu", "low/val/bleu", "high/val/bleu")


def test_curves_of_an_earlier_end_are_replaced(tmp_path):
    for seed in (1, 2):
        make_run(tmp_path / f"a{seed}", seed, 0.9, kind="a")
        log(tmp_path / f"a{seed}", {0: float(seed)})
    (tmp_path / "settings" / "kind=mine").mkdir(parents=True)
    log(tmp_path / "settings" / "kind=mine", {0: 1.0})
    write_curves(tmp_path)
    assert {path.name for path in tmp_path.glob("settings/*/*.settings")}
    for seed in (1, 2):
        make_run(tmp_path / f"b{seed}", seed, 0.9, kind="b")
        log(tmp_path / f"b{seed}", {0: float(seed)})
    write_curves(tmp_path)
    assert sorted(path.parent.name for path in tmp_path.glob("settings/*/*.settings")) == ["kind=a", "kind=b"]
    assert len([*tmp_path.glob("settings/kind=mine/*")]) == 1
    write_curves(tmp_path / "settings")  # no finished run
