"""A GIF of what was recorded: the pictures of its steps, one after the other."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageSequence
from torch.utils.tensorboard import SummaryWriter

from seq2seq.errors import InputError
from seq2seq.pictures.heatmap import render_attention
from seq2seq.tensorboard.export import GIF_BYTES, GIF_STEPS, animated_steps
from seq2seq.tensorboard.plugin.event_files import read_steps
from seq2seq.tensorboard.records import log_attention

SOURCE, TARGET = ["I", "see", "."], ["Je", "vois", "."]
WEIGHTS = {
    1000000: np.eye(3),
    20: np.full((3, 3), 1 / 3),
    3: np.array([[1, 0, 0], [1, 0, 0], [0.5, 0.5, 0]]),
}


@pytest.fixture
def run(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        for step in sorted(WEIGHTS):
            log_attention(writer, "s", WEIGHTS[step], SOURCE, TARGET, step)
            heads = np.stack([WEIGHTS[step], np.full((3, 3), 1 / 3)])
            log_attention(writer, "heads", heads, SOURCE, TARGET, step)
    return tmp_path


def frames_of(content):
    with Image.open(BytesIO(content)) as gif:
        assert gif.format == "GIF"
        assert gif.info["loop"] == 0
        return [
            (np.asarray(frame.convert("RGB"), dtype=int), frame.info["duration"])
            for frame in ImageSequence.Iterator(gif)
        ]


def drawn(weights, step):
    picture = render_attention(weights, SOURCE, TARGET, title=f"step {step:,}")
    return np.asarray(picture.convert("RGB"), dtype=int)


@pytest.mark.parametrize("name", ["s", "heads"])
def test_the_pictures_are_those_of_the_steps_in_their_order(run, name):
    frames = frames_of(animated_steps(run, f"{name}/forced"))
    assert len(frames) == len(WEIGHTS)
    for (frame, _), step in zip(frames, sorted(WEIGHTS), strict=True):
        weights = WEIGHTS[step] if name == "s" else (WEIGHTS[step] + 1 / 3) / 2
        expected = drawn(weights, step)
        height, width = expected.shape[:2]
        np.testing.assert_allclose(frame[:height, :width], expected, atol=3)
        assert min(frame[height:].min(initial=255), frame[:, width:].min(initial=255)) > 250, (
            "paper"
        )


def test_the_last_picture_stays_longest(run):
    pauses = [pause for _, pause in frames_of(animated_steps(run, "s/forced"))]
    assert pauses[-1] > 2 * max(pauses[:-1])


@pytest.mark.parametrize(("size", "most"), [(1, 200), (100, 26)])
def test_of_many_steps_or_large_ones_some_are_drawn_evenly_spread(tmp_path, size, most):
    steps, tokens = range(0, 2100, 10), ["a"] * size
    with SummaryWriter(str(tmp_path)) as writer:
        for step in steps:
            log_attention(writer, "s", np.eye(size), tokens, tokens, step)
    found = [*read_steps(tmp_path, "s/forced", most=GIF_STEPS, most_bytes=GIF_BYTES)]
    assert len(found) == most
    assert found[-1] == steps[-1]
    gaps = np.diff([steps[0], *found])
    assert gaps.max() <= 2 * np.ceil(len(steps) / most) * 10


def test_a_name_that_was_not_recorded_is_one_line_with_some_that_were(run, tmp_path):
    with pytest.raises(InputError, match=r"there are 2, such as heads/forced, s/forced"):
        animated_steps(run, "s")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="there is none"):
        animated_steps(tmp_path / "empty", "s/forced")
