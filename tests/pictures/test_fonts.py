"""Fonts and lettering: the right font for each text, and no empty boxes."""

import os
import struct
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import ImageFont

from seq2seq.pictures import fonts, lettering
from seq2seq.pictures.coverage import read_coverage

CACHED = (fonts._font_for, fonts._chain, fonts.coverage, fonts.open_font)


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


def format_4(runs: list[tuple[int, int, int, int]], glyphs: list[int]) -> bytes:
    """A character table of (first, last, shift, offset) runs, the closing one added."""
    runs = [*runs, (0xFFFF, 0xFFFF, 1, 0)]
    firsts, lasts, shifts, offsets = zip(*runs, strict=True)
    words = [4, 0, 0, 2 * len(runs), 0, 0, 0, *lasts, 0, *firsts, *shifts, *offsets, *glyphs]
    return struct.pack(f">{len(words)}H", *words)


def format_12(groups: list[tuple[int, int, int]]) -> bytes:
    head = struct.pack(">HHIII", 12, 0, 16 + 12 * len(groups), 0, len(groups))
    return head + b"".join(struct.pack(">III", *group) for group in groups)


def font_file(
    subtables: dict[tuple[int, int], bytes], *, tables: tuple[bytes, ...] = (b"glyf",)
) -> BytesIO:
    """The parts of a font that tell what it covers."""
    records, body = b"", b""
    for (platform, encoding), subtable in subtables.items():
        records += struct.pack(">HHI", platform, encoding, 4 + 8 * len(subtables) + len(body))
        body += subtable
    cmap = struct.pack(">HH", 0, len(subtables)) + records + body
    start = 12 + 16 * (len(tables) + 1)
    directory = struct.pack(">4sIII", b"cmap", 0, start, len(cmap))
    directory += b"".join(struct.pack(">4sIII", name, 0, 0, 0) for name in tables)
    return BytesIO(struct.pack(">IHHHH", 0x10000, len(tables) + 1, 0, 0, 0) + directory + cmap)


def test_a_table_of_format_4_covers_its_runs_and_nothing_else() -> None:
    covered = read_coverage(font_file({(3, 1): format_4([(65, 70, 0, 0), (97, 99, 0, 0)], [])}))
    assert {code for code in range(0x300) if code in covered} == {*range(65, 71), 97, 98, 99}
    assert 0x10041 not in covered


def test_a_character_mapped_to_glyph_zero_is_missing() -> None:
    by_shift = read_coverage(font_file({(3, 1): format_4([(65, 67, 0x10000 - 66, 0)], [])}))
    assert [code in by_shift for code in (65, 66, 67)] == [True, False, True]
    by_offset = read_coverage(font_file({(3, 1): format_4([(65, 67, 0, 4)], [7, 0, 9])}))
    assert [code in by_offset for code in (65, 66, 67)] == [True, False, True]
    grouped = read_coverage(font_file({(3, 10): format_12([(65, 67, 0)])}))
    assert [code in grouped for code in (65, 66, 67)] == [False, True, True]


def test_a_table_of_format_12_goes_before_one_of_format_4() -> None:
    subtables = {
        (3, 1): format_4([(65, 70, 0, 0)], []),
        (3, 10): format_12([(0x1F600, 0x1F601, 5)]),
    }
    covered = read_coverage(font_file(subtables))
    assert 0x1F600 in covered
    assert 0x1F601 in covered
    assert 0x1F602 not in covered
    assert 65 not in covered


def test_a_symbol_table_is_no_unicode_table() -> None:
    assert 65 not in read_coverage(font_file({(3, 0): format_4([(65, 70, 0, 0)], [])}))


@pytest.mark.parametrize("tables", [(), (b"CBDT",), (b"glyf", b"COLR")])
def test_a_font_without_plain_outlines_covers_nothing(tables: tuple[bytes, ...]) -> None:
    subtables = {(3, 1): format_4([(65, 70, 0, 0)], [])}
    assert 65 not in read_coverage(font_file(subtables, tables=tables))


def test_the_reader_agrees_with_the_glyphs_that_are_drawn() -> None:
    font = ImageFont.load_default(24)
    missing = bytes(font.getmask("\U0010fffd"))
    covered = read_coverage(BytesIO(font.path.getvalue()))
    codes = [code for code in range(0x21, 0x600) if code != 0xAD]
    drawn = {code for code in codes if bytes(font.getmask(chr(code))) != missing}
    assert {code for code in codes if code in covered} == drawn


def test_a_damaged_font_is_passed_over(
    tmp_path: Path, bare_machine: None, latin_font: Path
) -> None:
    content = latin_font.read_bytes()
    for length in range(0, len(content), 97):
        damaged = tmp_path / f"{length}.ttf"
        damaged.write_bytes(content[:length])
        assert 0x4F60 not in fonts.coverage(damaged)


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
    tables = {Path("a"): frozenset(b"abc"), Path("b"): frozenset(b"cdef"), Path("c"): range(128)}
    monkeypatch.setattr(fonts, "_chain", lambda _: tuple(tables))
    monkeypatch.setattr(fonts, "coverage", tables.__getitem__)
    chosen = [fonts.font_for(text) for text in ("ab", "cd", "af", "aé")]
    assert chosen == [Path("a"), Path("b"), Path("c"), None]


def test_a_font_is_not_opened_while_an_earlier_one_will_do(
    tmp_path: Path, bare_machine: None, latin_font: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(fonts.SETTING, os.pathsep.join(map(str, [latin_font, tmp_path])))
    opened = []
    read = fonts.coverage
    monkeypatch.setattr(fonts, "coverage", lambda font: opened.append(font) or read(font))
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
