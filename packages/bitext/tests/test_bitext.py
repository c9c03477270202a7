"""What the package says it does: two files, subtitles, places, languages of the file, and the command line."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import bitext
from bitext import (
    Columns,
    FormatError,
    Pair,
    base_language,
    holds_pairs,
    is_unspaced,
    parse_links,
    read,
    read_lines,
    read_links,
    read_two,
    sniff,
)

PACKAGE = Path(__file__).parents[1]
PO = 'msgid ""\nmsgstr ""\n"Language: de\\n"\n\nmsgid "Open the file"\nmsgstr "Datei öffnen"\n\nmsgid "A \\"b\\""\nmsgstr "Ein\\n „b“"\n'


def unit(*sides):
    return "".join(f"<tuv xml:lang='{code}'><seg>{text}</seg></tuv>" for code, text in sides)


TMX = f"<tmx>\n<body>\n<tu>{unit(('de', 'Ja.'), ('en', 'Yes.'))}</tu>\n\n<tu>{unit(('en', 'No.'), ('de', 'Nein.'))}</tu></body></tmx>"
XLIFF = """<xliff version="1.2"><file source-language="en" target-language="de"><body>
<trans-unit id="1"><source>Yes.</source><target>Ja.</target></trans-unit>
<trans-unit id="2"><source>No.</source><target>Nein.</target></trans-unit></body></file></xliff>"""
WMT = """<dataset><doc><src lang="en"><seg id="1">Yes.</seg>
<seg id="2">No.</seg></src><ref lang="de"><seg id="1">Ja.</seg><seg id="2">Nein.</seg></ref></doc></dataset>"""
PLACED = {
    "tsv": ("Yes.\tJa.\n\nNo.\tNein.\n", 1, 3),
    "csv": ('source,target\n"Yes.",Ja.\nNo.,Nein.\n', 2, 3),
    "jsonl": ('{"source": "Yes.", "target": "Ja."}\n\n{"source": "No.", "target": "Nein."}\n', 1, 3),
    "json": (json.dumps([{"source": "Yes.", "target": "Ja."}, {"source": "No.", "target": "Nein."}], indent=1), 1, 2),
    "xlf": (XLIFF, 2, 3),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLACED)
def test_a_pair_has_its_place_and_a_file_of_two_languages_needs_no_codes(kind, tmp_path):
    content, *places = PLACED[kind]
    (tmp_path / f"a.{kind}").write_text(content)
    assert list(read(tmp_path / f"a.{kind}")) == [
        Pair("Yes.", "Ja.", places[0]),
        Pair("No.", "Nein.", places[1]),
    ]


@pytest.mark.parametrize("content", [TMX, WMT])
def test_the_first_language_of_a_file_is_the_source_unless_others_are_asked_for(content, tmp_path):
    (tmp_path / "a.x").write_text(content)
    pairs = [
        Pair("Yes.", "Ja.", 3 if content is TMX else 1),
        Pair("No.", "Nein.", 5 if content is TMX else 2),
    ]
    assert list(read(tmp_path / "a.x", Columns(("en", "de")))) == pairs
    turned = [(pair.source, pair.target) for pair in read(tmp_path / "a.x")]
    assert turned == [pair[:2] if content is WMT else pair[1::-1] for pair in pairs]
    (tmp_path / "b.x").write_text(content.replace("'de'", "'fr'", 1).replace('"de"', '"en"'))
    with pytest.raises(FormatError, match=r"set source_language and target_language$"):
        list(read(tmp_path / "b.x"))


def test_an_archive_of_opus_has_the_languages_of_its_names(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, text in (
            ("X.de-en.de", "Ja.\n"),
            ("X.de-en.en", "Yes.\n"),
            ("X.xml", "<x/>"),
            ("README", "a"),
        ):
            archive.writestr(name, text)
    assert list(read(tmp_path / "a.zip")) == [Pair("Ja.", "Yes.", 1)]
    assert list(read(tmp_path / "a.zip", Columns(("en", "de")))) == [Pair("Yes.", "Ja.", 1)]
    damaged = (tmp_path / "a.zip").read_bytes().replace(b"PK\x01\x02", b"PK\x01\x03")
    (tmp_path / "b.zip").write_bytes(damaged)
    for call in (read, holds_pairs):
        with pytest.raises(FormatError, match="damaged"):
            call(tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("X.de-en.de", "Ja.\nNein.\n")
        archive.writestr("X.de-en.en", "Yes.\n")
    with pytest.raises(FormatError, match=r"b\.zip: X\.de-en\.de has 2 lines but X\.de-en\.en has 1"):
        list(read(tmp_path / "b.zip"))


def subtitles(*cues):
    return "".join(
        f"{n}\r\n00:{a} --> 00:{b}\r\n{text}\r\n\r\n" for n, (a, b, text) in enumerate(cues, start=1)
    )


def test_subtitles_that_are_shown_together_are_pairs(tmp_path):
    english = [("00:01,000", "00:03,000", "<i>Hello.</i>"), ("00:04,000", "00:08,000", "{\\an8}Where are you,\r\nand why?"),
               ("00:20,000", "00:21,500", "(A noise.)"), ("01:00,000", "01:02,000", "1\r\nis a number.")]  # fmt: skip
    german = [("00:01,200", "00:03,100", "Hallo."), ("00:04,100", "00:06,000", "Wo bist du"), ("00:06,000", "00:08,100", "und warum?"),
              ("00:21,400", "00:24,000", "Spät."), ("01:00,500", "01:02,500", "1 ist eine Zahl.")]  # fmt: skip
    files = tmp_path / "a.en.srt", tmp_path / "a.de.vtt"
    files[0].write_text(subtitles(*english))
    files[1].write_text(
        "WEBVTT\n\n" + subtitles(*german).replace("00:0", "0", 2).replace(",", ".").replace("\r", "")
    )
    assert [tuple(pair) for pair in read_two(*files)] == [
        ("Hello.", "Hallo.", 2), ("Where are you, and why?", "Wo bist du und warum?", 6), ("1 is a number.", "1 ist eine Zahl.", 15),
    ]  # fmt: skip
    assert sniff(files[0].read_bytes()) == sniff(files[1].read_bytes()) == "a file of subtitles"
    files[1].write_text(subtitles(("50:00,000", "50:01,000", "Ende.")))
    with pytest.raises(FormatError, match="same times"):
        list(read_two(*files))


def test_links_are_read_with_those_that_are_possible(tmp_path):
    (tmp_path / "links").write_text("0-0 1?2 2p1\n\n")
    assert read_links(tmp_path / "links") == [(((0, 0), (1, 2), (2, 1)), ((1, 2), (2, 1))), ((), ())]


@pytest.mark.parametrize("item", ["0:1", "1", "1-", "-1-2", "1-2-3", "a-b", "1_2", "1–2", "٣-1", "1-1,"])
def test_what_is_no_link_is_refused_with_file_and_line(tmp_path, item):
    (tmp_path / "links").write_text(f"0-0\n1-1 {item}\n", "utf-8")
    with pytest.raises(FormatError) as caught:
        read_links(tmp_path / "links")
    assert f"{tmp_path / 'links'}, line 2: {item!r} is no link: write SOURCE-TARGET" in str(caught.value)


@pytest.mark.parametrize("end", [0, -3])
def test_zstandard_is_read_where_its_package_is(end, tmp_path):
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "pyzstd")
    content = "".join(f"line {number}\n" for number in range(50_000))
    packed = zstd.compress(content.encode()) + zstd.compress(b"more\n")
    (tmp_path / "a.zst").write_bytes(packed[: end or None])
    if not end:
        assert read_lines(tmp_path / "a.zst") == [*content.splitlines(), "more"]
        (tmp_path / "a.zst").write_bytes(packed + b"no stream")
    with pytest.raises(FormatError, match="damaged"):
        read_lines(tmp_path / "a.zst")


@pytest.mark.parametrize(("code", "base", "unspaced"), [("zho_Hant", "zh", True), ("cmn", "zh", True), ("nan-Latn", "zh", False), ("ger", "de", False), ("gsw", "gsw", False)])  # fmt: skip
def test_any_code_of_a_language_is_known_by_its_rules(code, base, unspaced):
    assert (base_language(code), is_unspaced(code)) == (base, unspaced)


def python(folder, *arguments):
    path = os.pathsep.join(
        filter(None, [str(Path(bitext.__file__).parents[1]), os.environ.get("PYTHONPATH")])
    )
    variables = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=variables, text=True, capture_output=True, check=False
    )


def command(folder, *arguments):
    return python(folder, "-m", "bitext", *arguments)


def test_the_command_of_the_readme_converts(tmp_path):
    (tmp_path / "app.po").write_text(PO, encoding="utf-8")
    assert "python -m bitext convert app.po pairs.tsv" in (PACKAGE / "README.md").read_text(encoding="utf-8")
    done = command(tmp_path, "convert", "app.po", "pairs.tsv")
    assert (done.returncode, done.stdout) == (0, "")
    assert "msgstr as de" in done.stderr
    expected = 'Open the file\tDatei öffnen\nA "b"\tEin „b“\n'
    assert (tmp_path / "pairs.tsv").read_text(encoding="utf-8") == expected
    assert command(tmp_path, "convert", "app.po", "-").stdout == expected
    assert command(tmp_path, "convert", "app.po", "pairs.tsv").returncode == 2  # it is there
    for name in ("a.csv", "a.jsonl"):
        assert command(tmp_path, "convert", "app.po", name).returncode == 0
        columns = Columns(wanted=(1, 2) if name == "a.csv" else (None, None))
        assert [(pair.source, pair.target) for pair in read(tmp_path / name, columns)] == [
            tuple(line.split("\t")) for line in expected.splitlines()
        ]


def test_what_a_command_cannot_read_is_one_line_with_its_options(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\nc,d\n")
    done = command(tmp_path, "convert", "a.csv", "b.tsv")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "set --source_column and --target_column" in done.stderr
    assert not (tmp_path / "b.tsv").exists()
    assert (
        command(tmp_path, "convert", "a.csv", "-", "--source-column", "2", "--target_column", "1").stdout
        == "b\ta\nd\tc\n"
    )
    (tmp_path / "a.en").write_text("Yes.\n")
    (tmp_path / "a.de").write_text("Ja.\n")
    assert command(tmp_path, "convert", "a.en", "a.de", "-").stdout == "Yes.\tJa.\n"
    workbook = io.BytesIO()
    with zipfile.ZipFile(workbook, "w") as archive:
        archive.writestr("xl/workbook.xml", "x")
    (tmp_path / "a.xlsx").write_bytes(workbook.getvalue())
    said = command(tmp_path, "convert", "a.xlsx", "-").stderr
    assert "save the sheet as CSV" in said
    assert "--convert-to csv a.xlsx" in said


def test_the_example_of_the_readme_runs(tmp_path):
    code = (PACKAGE / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "memory.tmx").write_text(TMX)
    done = python(tmp_path, "-c", code)
    assert done.stdout == "Yes. → Ja. (line 3)\nNo. → Nein. (line 5)\n"


def test_nothing_is_loaded_that_a_file_of_text_does_not_need(tmp_path):
    code = "import bitext, sys; print(sorted(sys.modules.keys() & {'lxml', 'polib', 'pyarrow', 'torch', 'seq2seq', 'numpy'}))"
    assert python(tmp_path, "-c", code).stdout == "[]\n"


def test_a_question_mark_or_a_p_marks_possible_links_and_sure_wins():
    assert parse_links("0-0 2?1 10-2") == (((0, 0), (2, 1), (10, 2)), ((2, 1),))
    assert parse_links("2p1 0-0 10-2") == parse_links("0-0 2?1 10-2")
    assert parse_links("0-0 0?0") == (((0, 0),), ())
    with pytest.raises(FormatError, match="'0:0' is no link"):
        parse_links("0:0")


@pytest.mark.parametrize("bad", ['"c\td', '"c" d\te'])
def test_a_quote_that_is_in_the_way_of_others_is_named(bad, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text('a\tb\n"one\ntwo"\tx\n' + "c\td\n" * 5 + f"{bad}\n" + "e\tf\n" * 3)
    with pytest.raises(
        FormatError, match=r"line 2: no tab: .*; or, where quotes hold line ends, mend line 9: "
    ):
        list(bitext.read(path, bitext.Columns(("en", "fr"))))
    path.write_text("a\tb\nc\n")
    with pytest.raises(FormatError, match=r"separated by a tab$"):
        list(bitext.read(path, bitext.Columns(("en", "fr"))))
