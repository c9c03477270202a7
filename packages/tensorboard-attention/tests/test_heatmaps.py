"""Heatmaps and animations, and fonts for what they are labeled with."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import font_manager
from PIL import Image

from tensorboard_attention import AttentionFigure, figures, save_heatmap, write_gif
from tensorboard_attention.colors import weight_colors

PANEL = "", np.full((2, 2), 0.5), ["自行车", "<eos>"], ["हिन्दी", "$5"]


@pytest.fixture
def nothing_known(monkeypatch):
    monkeypatch.setattr(figures, "_chosen", {})
    monkeypatch.setattr(figures, "_lacking", set())
    figures.other_fonts.cache_clear()
    yield
    figures.other_fonts.cache_clear()


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_characters_of_no_font_are_named_once_and_warned_of_by_no_glyph(
    suffix, tmp_path, nothing_known, monkeypatch
):
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    with pytest.warns(UserWarning, match="自行车") as told:
        save_heatmap(tmp_path / f"a.{suffix}", [PANEL])
    assert len(told) == 1
    save_heatmap(tmp_path / f"a.{suffix}", [PANEL])  # a warning is an error


@pytest.mark.parametrize("title", ["a$x^$b", "costs $5 and $6 more", "$"])
def test_dollars_in_a_title_are_no_formula(title, tmp_path):
    figure = AttentionFigure()
    figure.draw([[1.0]], ["a"], ["b"], title=title)
    figure.pixels()
    assert figure.axes.title.get_text().replace("\\$", "$").startswith(title)
    save_heatmap(tmp_path / "a.png", [(title, [[1.0]], ["a"], ["b"])])


def test_installed_fonts_draw_what_they_have(tmp_path, nothing_known):
    if not any("NotoSansDevanagari-Regular" in path for path in font_manager.findSystemFonts()):
        pytest.skip("needs Noto Sans Devanagari")
    label, families = figures.drawable("हिन्दी")
    assert label == "हिन्दी"
    assert families == ["DejaVu Sans", "Noto Sans Devanagari"]
    save_heatmap(tmp_path / "a.png", [("", [[1.0]], ["हिन्दी"], ["a"])])


@pytest.mark.parametrize(("largest", "count"), [(1.0, 4), (1.0, 25), (0.3, 25)])
def test_a_heatmap_has_the_width_of_a_card_and_colors_up_to_its_maximum(largest, count):
    weights = np.eye(count) * largest
    figure = AttentionFigure(dpi=100)
    figure.draw(weights, ["▁source", *["x"] * (count - 1)], ["y"] * count)
    pixels = figure.pixels()
    assert pixels.shape[1] == 350
    assert (pixels.reshape(-1, 3) == weight_colors()[-1]).all(axis=1).sum() > 20 * count


@pytest.mark.parametrize("count", [4, 25])
def test_even_weights_are_light(count):
    figure = AttentionFigure(dpi=100)
    figure.draw(np.full((count, count), 1 / count), ["x"] * count, ["y"] * count)
    rows = figure.pixels().reshape(-1, 3)
    colors, counts = np.unique(rows[(rows < 250).any(axis=1)], axis=0, return_counts=True)
    dark = np.asarray(weight_colors(), dtype=float).sum(axis=-1)
    assert colors[counts.argmax()].sum() > dark[len(dark) // 2]  # what most pixels that are not paper have


def test_a_heatmap_keeps_to_the_style_of_figures_and_leaves_that_of_the_caller(tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    path = tmp_path / "a.svg"
    save_heatmap(path, [("title", np.eye(2), ["a", "b"], ["c", "d"])])
    assert {label for label in ("source", "target", "weight", "title") if f">{label}<" in path.read_text()} == {
        "source", "target", "weight", "title",
    }  # fmt: skip
    assert dict(mpl.rcParams) == before


def test_the_pictures_of_an_animation_have_one_scale(tmp_path):
    records = {
        step: SimpleNamespace(source=["a", "b"], target=["c", "d"], mean=lambda weights=weights: weights)
        for step, weights in ((0, np.full((2, 2), 0.1)), (1, np.eye(2)))
    }
    write_gif(tmp_path / "a.gif", records)
    with Image.open(tmp_path / "a.gif") as pictures:
        shares = []
        for place in range(pictures.n_frames):
            pictures.seek(place)
            shares.append((np.asarray(pictures.convert("L")) < 60).mean())
    assert shares[0] < 0.1 < shares[1]
