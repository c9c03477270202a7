"""Heatmaps: colors that fit, labels of every script, and every logger that takes pictures."""

from types import SimpleNamespace

import numpy as np
import pytest

from seq2seq.training.attention_logger import log_picture
from seq2seq.visualization import AttentionFigure
from tensorboard_attention.colours import weight_colors

PIXELS = np.zeros((2, 3, 3), np.uint8)


class Told:
    """Keeps what one method is called with."""

    def __init__(self, method):
        self.calls = []
        setattr(self, method, lambda *args, **kwargs: self.calls.append((args, kwargs)))


@pytest.mark.parametrize(
    ("experiment", "own", "expected"),
    [
        ("add_image", {}, (("s", PIXELS, 7), {"dataformats": "HWC"})),  # TensorBoard
        ("log_image", {"run_id": "r"}, (("r", PIXELS), {"key": "s", "step": 7})),  # MLflow
        ("log_image", {}, ((PIXELS,), {"name": "s", "step": 7})),  # Comet
    ],
)
def test_a_logger_that_takes_pictures_gets_them(experiment, own, expected):
    told = Told(experiment)
    log_picture(SimpleNamespace(experiment=told, **own), "s", PIXELS, 7)
    assert told.calls == [expected]


def test_weights_and_biases_gets_them_and_a_logger_without_pictures_is_left_alone():
    told = Told("log_image")
    told.experiment = None
    log_picture(told, "s", PIXELS, 7)
    assert told.calls == [((), {"key": "s", "images": [PIXELS], "step": 7})]
    log_picture(SimpleNamespace(experiment=None), "s", PIXELS, 7)


@pytest.mark.parametrize("largest", [1.0, 0.1])
@pytest.mark.parametrize("count", [4, 25])
def test_a_heatmap_has_the_width_of_a_card_and_colors_up_to_its_maximum(largest, count):
    weights = np.eye(count) * largest
    figure = AttentionFigure(dpi=100)
    figure.draw(weights, ["▁source", *["x"] * (count - 1)], ["y"] * count)
    pixels = figure.pixels()
    assert pixels.shape[1] == 350
    assert (pixels.reshape(-1, 3) == weight_colors()[-1]).all(axis=1).sum() > 20 * count
