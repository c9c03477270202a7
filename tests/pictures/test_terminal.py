from types import SimpleNamespace

import torch

from seq2seq.commands import translate
from seq2seq.decoding.translation import Translation
from seq2seq.pictures.terminal import SHADES, draw_attention

WEIGHTS = [[1.0, 0.0, 0.0], [0.05, 0.5, 0.45]]


def test_cells_stand_under_their_tokens_and_darken_with_the_weight():
    drawn = draw_attention(WEIGHTS, ["the", "cats", "."], ["les", "chats"], width=80)
    assert drawn.splitlines() == [
        "      the cats .",
        "les   ███",
        "chats ··· ▒▒▒▒ ▒",
    ]


def test_shades_never_fall_as_weights_grow():
    row = [place / 100 for place in range(101)]
    line = draw_attention([row], ["x"] * 101, ["y"], width=1000).splitlines()[1][2:]
    shades = [SHADES.index(sign) for sign in line.ljust(201)[::2]]
    assert shades == sorted(shades)
    assert set(shades) == set(range(6))


def test_what_is_too_wide_goes_into_blocks_of_their_own():
    sources = ["wide", "words", "follow", "each", "other"]
    weights = [[0.2] * 5, [1.0, 0, 0, 0, 0]]
    drawn = draw_attention(weights, sources, ["a", "b"], width=16)
    blocks = drawn.split("\n\n")
    assert [block.splitlines()[0].split() for block in blocks] == [
        ["wide", "words"],
        ["follow", "each"],
        ["other"],
    ]
    assert all(len(line) <= 16 for line in drawn.splitlines())


def test_wide_signs_count_twice_and_signs_without_width_cannot_move_the_cursor():
    drawn = draw_attention([[1.0, 1.0]], ["猫", "a\x1b[2J\n"], ["x"], width=80)
    assert drawn.splitlines()[1] == "x ██ ██████"
    assert "\x1b" not in drawn
    assert len(drawn.splitlines()) == 2


def test_nothing_is_drawn_of_a_blank_sentence():
    assert draw_attention([], [], [], width=80) == ""


def test_what_is_said_of_a_typed_sentence_moves_nothing_but_the_cursor(monkeypatch, capsys):
    typed = iter(["a \x1b[2J"])
    monkeypatch.setattr(translate, "_asked", lambda: next(typed, None))
    found = Translation(
        "b\x1b[31m\x07\r", ("a\x1b", "<unk>"), ("b\x9b",), -1.0, torch.ones(1, 2), ("\x1b]0;x\x07",)
    )
    translator = SimpleNamespace(translate_n_best=lambda *_, **__: [[found]])
    assert translate._converse(translator, None, replace_unknown=False) == 0
    said = capsys.readouterr().out
    assert "unknown to the model" in said
    assert not {sign for sign in said if not sign.isprintable()} - {"\n"}
