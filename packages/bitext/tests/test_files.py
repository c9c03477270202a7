"""Files as lines: compressed, in archives, through pipes, damaged; and two files side by side."""

import bz2
import contextlib
import gzip
import lzma
import os
import zipfile
from threading import Thread

import pytest

from bitext import Columns, FormatError, read, read_lines, read_two


def written(folder, content, name="text.en"):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "b"]),
        ("a\u2028b\x0cc\x85d\n".encode(), ["a\u2028b\x0cc\x85d"]),
        (b"\n\na\n", ["", "", "a"]),
        (b"a\0b\n", ["a\0b"]),
    ],
    ids=["plain", "no-final-newline", "crlf", "byte-order-mark", "only-newline", "blank", "nul"],
)
def test_lines_end_at_newline_only(tmp_path, content, lines):
    assert read_lines(written(tmp_path, content)) == lines


@pytest.mark.parametrize("name", ["text.gz", "text.en"])
def test_gzip_is_told_by_content_not_by_name(tmp_path, name):
    assert read_lines(written(tmp_path, gzip.compress("é\n".encode()), name)) == ["é"]
    assert read_lines(written(tmp_path, "é\n".encode(), name)) == ["é"]


def two(source, target):
    return list(read_two(source, target))


def refusal(call, *arguments):
    with pytest.raises(FormatError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_invalid_utf8_is_refused_with_file_line_and_remedy(tmp_path):
    path = written(tmp_path, b"good\nb\xe9d\n")
    message = refusal(read_lines, path)
    assert f"{path}, line 2" in message
    assert "iconv -f WINDOWS-1252" in message  # Excel's; with LATIN1 its œ and ’ would be control characters


def test_wrong_files_are_refused_by_name(tmp_path):
    missing, folder = tmp_path / "absent.en", tmp_path / "folder"
    folder.mkdir()
    empty, damaged = written(tmp_path, b""), written(tmp_path, gzip.compress(b"a" * 999)[:-20], "d")
    assert f"{missing}: there is no such file" in refusal(read_lines, missing)
    assert f"{folder} is a folder" in refusal(read_lines, folder)
    assert f"{empty} is empty" in refusal(read_lines, empty)
    assert f"{damaged} is damaged" in refusal(read_lines, damaged)


def test_files_of_different_length_are_refused_with_the_first_line_alone(tmp_path):
    source = written(tmp_path, b"a\nb\nc\n", "source")
    target = written(tmp_path, b"a\nb\n", "target")
    message = refusal(two, source, target)
    assert f"{source} has 3 lines but {target} has 2" in message
    assert message.endswith("is 3")
    target.write_text("one\n")
    assert f"{target} has 1 line but {source} has 3" in refusal(two, target, source)


ABOUT = ("_about.txt", b"About these files")


PAIRS = ("fra.txt", b"Go.\tVa !\tCC-BY 2.0 (France) Attribution: #1\n")


def zipped(folder, *entries, name="fra-eng.zip"):
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries:
            archive.writestr(entry, content)
    return path


def test_the_archive_is_read_as_served_whatever_its_name(tmp_path):
    for name in ("fra-eng.zip", "pairs.txt"):
        path = zipped(tmp_path, ABOUT, PAIRS, name=name)
        assert read_lines(path) == PAIRS[1].decode().splitlines()


def test_no_name_in_an_archive_becomes_a_path(tmp_path):
    folder = tmp_path / "deep" / "deeper"
    folder.mkdir(parents=True)
    path = zipped(folder, ("../../escaped.txt", PAIRS[1]))
    assert read_lines(path) == PAIRS[1].decode().splitlines()
    assert [entry.name for entry in tmp_path.rglob("*") if entry.is_file()] == ["fra-eng.zip"]


def test_archives_that_are_not_one_text_are_refused_by_what_they_hold(tmp_path):
    assert "archive of 0 text files: unpack" in refusal(read_lines, zipped(tmp_path, ABOUT))
    assert "archive of 2 text files" in refusal(read_lines, zipped(tmp_path, PAIRS, ("b.txt", b"")))


def test_damaged_and_encrypted_archives_are_refused(tmp_path):
    path = zipped(tmp_path, PAIRS)
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    assert "is damaged" in refusal(read_lines, path)
    path.write_bytes(content.replace(b"Go.", b"No.") if b"Go." in content else content[:60])
    assert "is damaged" in refusal(read_lines, path)
    encrypted = bytearray(content)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[content.index(mark) + offset] |= 1
    path.write_bytes(encrypted)
    assert "encrypted" in refusal(read_lines, path)


def through_a_pipe(content, size=1000):
    """The path of a pipe into which another thread writes, in small pieces."""
    reading, writing = os.pipe()

    def write():
        with os.fdopen(writing, "wb", buffering=0) as file, contextlib.suppress(BrokenPipeError):
            for start in range(0, len(content), size):
                file.write(content[start : start + size])

    Thread(target=write, daemon=True).start()
    return f"/dev/fd/{reading}"


@pytest.mark.parametrize(
    "packed", [bytes, gzip.compress, bz2.compress, lzma.compress], ids=lambda each: each.__name__
)
def test_a_pipe_has_the_lines_of_a_file(packed):
    lines = [f"line {number}" for number in range(20_000)]
    content = packed("".join(f"{line}\n" for line in lines).encode())
    assert read_lines(through_a_pipe(content)) == lines


@pytest.mark.parametrize(
    "packed", [gzip.compress, bz2.compress, lzma.compress], ids=lambda each: each.__name__
)
def test_packed_files_one_after_another_are_read_and_nothing_else_after_them(packed, tmp_path):
    one, other = packed(b"a\nb\n"), packed(b"c\n")
    assert read_lines(written(tmp_path, one + other)) == ["a", "b", "c"]
    assert read_lines(through_a_pipe(one + other, size=1)) == ["a", "b", "c"]
    for rest in (b"c\nd\n", b"c", gzip.compress(b"c\n"), bz2.compress(b"c\n"), other[:-3]):
        if not rest.startswith(one[:3]) or rest == other[:-3]:
            assert "damaged" in refusal(read_lines, written(tmp_path, one + rest))
    if packed is lzma.compress:
        assert read_lines(written(tmp_path, one + b"\0" * 8 + other + b"\0" * 4)) == ["a", "b", "c"]


def test_a_pipe_that_gives_its_bytes_one_by_one_is_what_it_begins_with():
    for content, way in (
        (b"<tmx><body/></tmx>", "TMX"),
        (b"PAR1abc", "Parquet"),
        ("a\n".encode("utf-16"), "UTF-16"),
    ):
        assert way in refusal(read_lines, through_a_pipe(content, size=1))
    assert read_lines(through_a_pipe(b"\xef\xbb\xbfa\nb", size=1)) == ["a", "b"]


def test_a_file_of_pairs_from_a_pipe_is_refused_not_cut():
    pipe = through_a_pipe(b"a line\tune ligne\n" * 3000)
    assert "pipe" in refusal(read, pipe, Columns(("en", "fr")))


def test_a_zip_archive_from_a_pipe_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("text.txt", "a\n")
    assert read_lines(tmp_path / "a.zip") == ["a"]
    assert "pipe" in refusal(read_lines, through_a_pipe((tmp_path / "a.zip").read_bytes()))
