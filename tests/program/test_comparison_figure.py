import pytest

from seq2seq.cli.comparison_figure import draw_comparison


@pytest.mark.parametrize("name", ["a$x^$b", "costs $5 and $6 more", "$"])
def test_dollars_in_a_setting_are_no_formula(name, tmp_path):
    rows = [{"setting": f"{name} {place}", "runs": 1, "scores": [place], "mean": place} for place in (1, 2)]
    rows[1] |= {"difference": 1.0, "low": 0.5, "high": 1.5}
    draw_comparison(rows, "test/bleu", tmp_path / "b.png")
