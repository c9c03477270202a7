import numpy as np
import pytest

from seq2seq.pictures.bars import LENGTH, render_bars
from seq2seq.pictures.curves import BLUE, Series, pale, render_curves
from seq2seq.pictures.parallel import ParallelAxis, render_parallel


def test_numbers_lie_by_size_and_names_evenly():
    assert ParallelAxis("rate", [1.0, 3, 2]).shares() == [0, 1, 0.5]
    assert ParallelAxis("score", ["dot", "additive", None]).shares() == [1, 0.5, 0]
    assert ParallelAxis("same", [2, 2]).shares() == [0.5, 0.5]


def test_labels_keep_the_ends_and_have_room():
    labels = ParallelAxis("rate", [0, 0.001, 0.5, 0.999, 1]).labels()
    assert [text for _, text in labels] == ["0", "0.5", "1"]


def test_a_line_is_drawn_from_axis_to_axis():
    axes = [ParallelAxis("a", [0, 1]), ParallelAxis("BLEU", [1.0, 2.0])]
    pixels = np.asarray(render_parallel(axes)).astype(int)
    coloured = (pixels.max(axis=2) - pixels.min(axis=2)) > 20
    assert coloured.any(axis=0).sum() > 150
    with pytest.raises(ValueError, match="two axes"):
        render_parallel(axes[:1])


def test_bars_are_as_long_as_their_numbers():
    pixels = np.asarray(render_bars({"a": 1.0, "b": 0.5}, title="").convert("L"))
    dark = [row.sum() for row in pixels < 150]
    assert max(dark) >= LENGTH
    assert any(abs(count - LENGTH / 2) < 20 for count in dark)
    with pytest.raises(ValueError, match="at least 0"):
        render_bars({"a": -1.0}, title="")


def test_an_area_lies_below_the_lines_and_not_in_the_legend():
    line = Series("mean", [0, 1], [0.5, 0.5], BLUE)
    area = Series("", [0, 1, 1, 0], [1, 1, 0, 0], pale(BLUE), kind="area")
    pictures = [
        np.asarray(render_curves(s, x_label="", y_label="")) for s in ([line, area], [area, line])
    ]
    assert (pictures[0] == pictures[1]).all()
    assert (pictures[0] == pale(BLUE)).all(axis=2).any()
    assert (pictures[0] == BLUE).all(axis=2).any()
