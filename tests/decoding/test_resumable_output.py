import bz2
import gzip
import io
import json
import lzma

import pytest

from seq2seq.decoding.resumable_output import ResumableOutput
from seq2seq.errors import InputError
from seq2seq.text.lines import stream_lines

LINES = [f"line {number}" for number in range(10)]
OPTIONS = {"--beam": 1, "model": ["ab"]}


def translate(path, lines=LINES, *, resume=False, stop_after=None, options=OPTIONS):
    """Upper-case in windows of three; like a kill, a stop comes between a write and its end."""
    with ResumableOutput(path, options, resume=resume) as output:
        rest = list(output.remaining(lines))
        for start in range(0, len(rest), 3):
            if stop_after is not None and output.num_lines >= stop_after:
                return output.num_lines
            window = rest[start : start + 3]
            output.add(window, "".join(f"{line.upper()}\n" for line in window))
        output.complete()
    return None


def test_a_killed_translation_is_continued_as_if_it_had_not_been(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    translate(whole)
    assert whole.read_text() == "".join(f"{line.upper()}\n" for line in LINES)
    for stop_after in (0, 3, 9):
        translate(killed, stop_after=stop_after, resume=True)
        with killed.open("a") as file:
            file.write("LINE 3\nLI")
    translate(killed, resume=True)
    assert killed.read_bytes() == whole.read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["killed", "whole"]


def test_another_input_or_other_options_are_not_continued(tmp_path):
    path = tmp_path / "out"
    translate(path, stop_after=6)
    with pytest.raises(InputError, match="holds an interrupted translation: add --resume"):
        translate(path)
    for lines in (["line 0", "line ONE", *LINES[2:]], LINES[:5]):
        with pytest.raises(InputError, match="first 6 lines of the input are not those"):
            translate(path, lines, resume=True)
    with pytest.raises(InputError, match="begun with another --beam"):
        translate(path, resume=True, options=OPTIONS | {"--beam": 2})
    path.write_text("L")
    with pytest.raises(InputError, match="is shorter than"):
        translate(path, resume=True)
    for damage in ("{", "[]", json.dumps({"lines": 1})):
        (tmp_path / "out.progress").write_text(damage)
        with pytest.raises(InputError, match="is damaged"):
            translate(path, resume=True)


def test_a_complete_translation_is_not_continued(tmp_path):
    translate(tmp_path / "out", resume=True)
    with pytest.raises(InputError, match="it is complete"):
        translate(tmp_path / "out", resume=True)


def test_lines_are_read_compressed_and_plain_alike():
    content = b"a\r\n\nb\xff c\x85d\nlast"
    expected = ["a", "", "b\ufffd c\ufffdd", "last"]
    for compress in (bytes, gzip.compress, bz2.compress, lzma.compress):
        data = compress(content)
        assert list(stream_lines(io.BytesIO(data))) == expected
    assert not list(stream_lines(io.BytesIO(b"")))


def test_damaged_gzip_is_refused():
    data = gzip.compress(b"line\n" * 100)
    for damaged in (data[:-9], data[:20] + b"?" + data[21:]):
        with pytest.raises(InputError, match="damaged gzip"):
            list(stream_lines(io.BytesIO(damaged)))
