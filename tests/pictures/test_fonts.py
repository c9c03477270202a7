"""Fonts and lettering: the right font for each text, and no empty boxes."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import ImageFont

from seq2seq.pictures import fonts, lettering

CACHED = (
    fonts._font_for,
    fonts._chain,
    fonts.covers,
    fonts._glyph,
    fonts._unshaped,
    fonts.open_font,
)


def forget() -> None:
    for cached in CACHED:
        cached.cache_clear()


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without fonts: Pillow's own is all there is."""
    monkeypatch.setattr(fonts, "_FOLDERS", ())
    monkeypatch.delenv(fonts.SETTING, raising=False)
    forget()
    yield
    forget()


@pytest.fixture
def latin_font(tmp_path: Path) -> Path:
    path = tmp_path / "fonts" / "deep" / "latin.ttf"
    path.parent.mkdir(parents=True)
    path.write_bytes(ImageFont.load_default(16).path.getvalue())
    return path


def test_a_font_covers_what_it_draws_and_nothing_else(bare_machine: None) -> None:
    has, lacks = "aW~«’™ ", "Éß\u0301你\U0001f600\uffff\U0010fffd\U0010ffff\u0e01"
    assert [each for each in has + lacks if fonts.covers(fonts.BUILT_IN, each)] == list(has)


def test_a_font_without_outlines_covers_nothing_that_is_seen(
    tmp_path: Path, bare_machine: None, latin_font: Path
) -> None:
    content = bytearray(latin_font.read_bytes())
    records = struct.iter_unpack(">4s4xII", content[12 : 12 + 16 * content[5]])
    start, length = {name: place for name, *place in records}[b"loca"]
    content[start : start + length] = bytes(length)
    empty = tmp_path / "empty.ttf"
    empty.write_bytes(content)
    assert [each for each in "aW \u0301" if fonts.covers(empty, each)] == [" "]


def test_a_damaged_font_is_passed_over(
    tmp_path: Path, bare_machine: None, latin_font: Path
) -> None:
    content = latin_font.read_bytes()
    for length in range(0, len(content), 97):
        damaged = tmp_path / f"{length}.ttf"
        damaged.write_bytes(content[:length])
        assert not fonts.covers(damaged, "你")


@pytest.mark.parametrize("named", ["file", "folder"])
def test_fonts_of_the_setting_come_first(
    named: str, bare_machine: None, latin_font: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = latin_font if named == "file" else latin_font.parents[1]
    assert fonts.font_for("abc") == fonts.BUILT_IN
    monkeypatch.setenv(fonts.SETTING, os.pathsep.join(["/nowhere", str(place)]))
    assert fonts.font_for("abc") == latin_font


def test_the_font_chosen_has_all_characters_of_the_text(
    monkeypatch: pytest.MonkeyPatch, bare_machine: None
) -> None:
    tables = {Path("a"): "abc", Path("b"): "cdef", Path("c"): "abcdefg"}
    monkeypatch.setattr(fonts, "_chain", lambda _: tuple(tables))
    monkeypatch.setattr(fonts, "covers", lambda font, character: character in tables[font])
    chosen = [fonts.font_for(text) for text in ("ab", "cd", "af", "aé")]
    assert chosen == [Path("a"), Path("b"), Path("c"), None]


def test_a_font_is_not_opened_while_an_earlier_one_will_do(
    tmp_path: Path, bare_machine: None, latin_font: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(fonts.SETTING, os.pathsep.join(map(str, [latin_font, tmp_path])))
    opened = []
    read = fonts.open_font
    monkeypatch.setattr(
        fonts, "open_font", lambda font, size: opened.append(font) or read(font, size)
    )
    fonts.font_for("abc")
    assert set(opened) == {latin_font}


def test_system_fonts_are_ordered_by_preference(
    tmp_path: Path, bare_machine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Zebra.ttf", "AcmeBold.otf", "Arial.ttf", "DejaVuSans.ttf", "notes.txt"):
        (tmp_path / name).touch()
    monkeypatch.setattr(fonts, "_FOLDERS", (str(tmp_path),))
    names = [path.name for path in fonts._chain("")]
    assert names == [
        "DejaVuSans.ttf",
        "Arial.ttf",
        fonts.BUILT_IN.name,
        "Zebra.ttf",
        "AcmeBold.otf",
    ]


@pytest.mark.parametrize(
    "character", ["你", "\U0001f600", "\n", "\t", "\u200b", "\u2028", "\ud800"]
)
def test_what_cannot_be_written_becomes_its_code_point(character: str, bare_machine: None) -> None:
    mark = lettering.code_point_mark(character)
    line = lettering.lettering(f"a{character}b", 15)
    places = range(line.shape[1] - mark.shape[1] + 1)
    top = (line.shape[0] - mark.shape[0]) // 2
    rows = line[top : top + mark.shape[0]]
    assert any((rows[:, place : place + mark.shape[1]] == mark).all() for place in places)


def test_different_characters_have_different_marks() -> None:
    marks = {lettering.code_point_mark(chr(code)).tobytes() for code in range(0x4E00, 0x4F00)}
    assert len(marks) == 256


def test_all_sixteen_digits_differ() -> None:
    assert len({lettering._digit_row(digit).tobytes() for digit in "0123456789ABCDEF"}) == 16


@pytest.mark.parametrize("text", ["", "a", "Ég", "你好", "\n", "a\u0301" * 30, "x" * 500])
def test_every_line_has_the_height_of_its_size(text: str) -> None:
    assert lettering.lettering(text, 13).shape[0] == lettering.line_height(13)


def test_composed_and_decomposed_letters_look_the_same(bare_machine: None) -> None:
    assert np.array_equal(lettering.lettering("e\u0301", 15), lettering.lettering("é", 15))


def test_without_raqm_right_to_left_text_is_reversed_with_its_marks_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lettering.features, "check", lambda _: False)
    assert lettering._in_visual_order("שָלום") == "םולשָ"
    assert lettering._in_visual_order("left") == "left"


def test_with_raqm_the_order_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lettering.features, "check", lambda _: True)
    assert lettering._in_visual_order("שלום") == "שלום"


def test_pieces_of_right_to_left_text_run_from_the_right(bare_machine: None) -> None:
    marks = [lettering._placed(lettering.code_point_mark(letter), 15) for letter in "לש"]
    latin = lettering.lettering("a", 15)
    line = lettering.lettering("aשל", 15)
    assert np.array_equal(line[:, -latin.shape[1] :], latin)
    assert line.shape[1] == latin.shape[1] + sum(mark.shape[1] for mark in marks)
