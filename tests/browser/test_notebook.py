"""What a notebook shows of a translation: the viewer, in a frame of its own."""

import numpy as np
import pytest
from playwright.sync_api import expect

import seq2seq
from tensorboard_attention import show
from tests.browser.test_viewer import labels, point_at

SENTENCES = ("the red car <script>alert(1)</script> sees", '"></iframe><img src=x onerror=alert(2)>')


@pytest.fixture
def shown(trained):
    """Translations as a notebook shows them, each below the other, from a file."""
    run = seq2seq.load(trained / "seed_1")
    return [(run.attention(sentence), run.translate([sentence], beam_size=5)[0]) for sentence in SENTENCES]


@pytest.fixture
def open_notebook(open_page, tmp_path):
    def open_with(*outputs):
        path = tmp_path / "notebook.html"
        cells = "".join(f"<div class=output>{each._repr_html_()}</div>" for each in outputs)
        path.write_text(f"<!doctype html><meta charset=utf-8><body>{cells}</body>", "utf-8")
        page = open_page(path.as_uri())
        return page, [page.frame_locator("iframe").nth(number) for number in range(len(outputs))]

    return open_with


def test_each_translation_has_its_tokens_and_weights(open_notebook, shown):
    _, frames = open_notebook(*(html for html, _ in shown))
    for frame, (_, translation) in zip(frames, shown, strict=True):
        expect(frame.locator("figure svg")).to_be_visible()
        assert labels(frame, "row") == list(translation.target_tokens)
        assert labels(frame, "column") == list(translation.source_tokens)
        point_at(frame, "row", 0)
        numbers = frame.locator(".weights .number").all_text_contents()
        expected = translation.weights[0].tolist()
        assert list(map(float, numbers)) == pytest.approx(expected, abs=6e-4)


def test_a_frame_is_high_enough_for_what_it_shows(open_notebook):
    tokens = [f"token{number}" for number in range(12)]
    page, frames = open_notebook(show(np.eye(12), tokens, tokens))
    figure = frames[0].locator("figure svg").bounding_box()
    frame = page.locator("iframe").bounding_box()
    assert figure["y"] + figure["height"] <= frame["y"] + frame["height"]
