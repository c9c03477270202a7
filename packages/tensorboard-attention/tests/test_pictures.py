import numpy as np
import pytest
from matplotlib import font_manager

from seq2seq.visualization import style as fonts
from seq2seq.visualization.comparison import draw_comparison
from seq2seq.visualization.heatmap import AttentionFigure, save_heatmap

PANEL = "", np.full((2, 2), 0.5), ["自行车", "<eos>"], ["हिन्दी", "$5"]


@pytest.fixture
def nothing_known(monkeypatch):
    monkeypatch.setattr(fonts, "_chosen", {})
    monkeypatch.setattr(fonts, "_lacking", set())
    fonts.other_fonts.cache_clear()
    yield
    fonts.other_fonts.cache_clear()


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_characters_of_no_font_are_named_in_a_line_and_warned_of_by_no_glyph(
    suffix, tmp_path, nothing_known, monkeypatch, capsys
):
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    for _ in range(2):
        save_heatmap(tmp_path / f"a.{suffix}", [PANEL])  # a warning is an error
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "自行车" in lines[0]


@pytest.mark.parametrize("title", ["a$x^$b", "costs $5 and $6 more", "$"])
def test_dollars_in_a_title_are_no_formula(title, tmp_path):
    figure = AttentionFigure()
    figure.draw([[1.0]], ["a"], ["b"], title=title)
    figure.pixels()
    assert figure.axes.title.get_text().replace("\\$", "$").startswith(title)
    save_heatmap(tmp_path / "a.png", [(title, [[1.0]], ["a"], ["b"])])
    rows = [{"setting": f"{title} {place}", "runs": 1, "scores": [place], "mean": place} for place in (1, 2)]
    rows[1] |= {"difference": 1.0, "low": 0.5, "high": 1.5}
    draw_comparison(rows, "test/bleu", tmp_path / "b.png")


def test_installed_fonts_draw_what_they_have(tmp_path, nothing_known, capsys):
    if not any("NotoSansDevanagari-Regular" in path for path in font_manager.findSystemFonts()):
        pytest.skip("needs Noto Sans Devanagari")
    label, families = fonts.drawable("हिन्दी")
    assert label == "हिन्दी"
    assert families == ["DejaVu Sans", "Noto Sans Devanagari"]
    save_heatmap(tmp_path / "a.png", [("", [[1.0]], ["हिन्दी"], ["a"])])
    assert not capsys.readouterr().err
