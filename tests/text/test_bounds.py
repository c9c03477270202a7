"""What reads text takes no more memory than text needs, whatever it is given."""

import bz2
import gzip
import io
import lzma
import os
import random
import tracemalloc
import zipfile

import pytest

from seq2seq.errors import InputError
from seq2seq.evaluation.pharaoh import read_pharaoh
from seq2seq.text import files
from seq2seq.text.corpus import Shard, read_lines, read_tab_separated
from seq2seq.text.files import LINES_AT_ONCE, LONGEST_LINE
from seq2seq.text.lines import stream_lines
from seq2seq.text.shards import are_larger, chunks, read_shards
from seq2seq.text.vectors import read_vectors
from seq2seq.text.vocabulary import SPECIALS, Vocabulary

MEMORY = 12_000_000
BOMB = 16_000_000


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pairs.txt", content)
    return buffer.getvalue()


COMPRESS = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """Lines without end: 16 MB, the plain ones without any block on the disk."""
    folder = tmp_path_factory.mktemp("bombs")
    with (folder / "plain").open("wb") as file:
        file.truncate(BOMB)
    for name in ("gz", "bz2", "xz"):
        (folder / name).write_bytes(COMPRESS[name](bytes(BOMB)))
    return folder


def read_stream(path):
    with path.open("rb") as stream:
        for _ in stream_lines(stream):
            pass


def read_large(path):
    for _ in chunks([Shard(path, path)]):
        pass


def read_wanted(path):
    read_vectors(path, Vocabulary([*SPECIALS, "a"]), 1)


READERS = {
    "lines": read_lines,
    "columns": read_tab_separated,
    "links": read_pharaoh,
    "stream": read_stream,
    "store": read_large,
    "vectors": read_wanted,
}


def said_by(read, *arguments):
    try:
        read(*arguments)
    except InputError as error:
        return str(error)
    return ""


def refusal(read, *arguments):
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read(*arguments)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("bomb", COMPRESS)
def test_a_line_without_end_is_refused_before_it_fills_the_memory(bombs, bomb, name):
    assert ", line 1 is longer than 1,048,576 bytes" in refusal(READERS[name], bombs / bomb)


@pytest.mark.parametrize("name", sorted(READERS.keys() - {"vectors"}))
@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_what_unfolds_as_no_text_does_is_refused(tmp_path, monkeypatch, kind, name):
    path = tmp_path / "bomb"
    generator = random.Random(1)
    text = "".join(f"a {generator.random()}\n" for _ in range(3_000)).encode()
    for content, is_text in ((text * 4, True), (text + b"a 1\n" * 150_000, False)):
        path.write_bytes(COMPRESS[kind](content))
        monkeypatch.setattr(files, "MOST_UNFOLDED", 15)
        monkeypatch.setattr(files, "UNFOLDED_ANYWAY", 100_000)
        message = f"unfolds to more than {files.MOST_UNFOLDED} times its size"
        assert (message in said_by(READERS[name], path)) != is_text
        monkeypatch.setattr(files, "UNFOLDED_ANYWAY", len(content))
        assert message not in said_by(READERS[name], path)


@pytest.mark.parametrize("name", sorted(READERS.keys() - {"stream", "vectors"}))
@pytest.mark.parametrize("kind", COMPRESS)
def test_a_line_may_be_so_long_and_no_longer(tmp_path, kind, name):
    path = tmp_path / "text"
    for length in (LONGEST_LINE, LONGEST_LINE + 1):
        for ending in (b"", b"\nx"):
            path.write_bytes(COMPRESS[kind](b"first\n\n" + b"a" * length + ending))
            said = said_by(READERS[name], path)
            assert (f"{path}, line 3 is longer" in said) == (length > LONGEST_LINE)


def test_a_line_of_a_stream_is_bounded_as_that_of_a_file():
    lines = [b"a" * LONGEST_LINE, b"b", b"c" * LONGEST_LINE]
    assert [len(line) for line in stream_lines(io.BytesIO(b"\n".join(lines)))] == [
        LONGEST_LINE,
        1,
        LONGEST_LINE,
    ]
    with pytest.raises(InputError, match="the input, line 3 is longer"):
        list(stream_lines(io.BytesIO(b"\n".join(lines) + b"c")))


def test_lines_of_a_stream_come_as_they_are_written():
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stream, os.fdopen(writer, "wb", buffering=0) as out:
        out.write(b"one\ntwo\nthr")
        lines = stream_lines(stream)
        assert [next(lines), next(lines)] == ["one", "two"]
        out.write(b"ee\n")
        assert next(lines) == "three"


def test_a_zipped_text_is_bounded(tmp_path):
    path = tmp_path / "pairs.zip"
    path.write_bytes(zipped(bytes(BOMB)))
    assert f"{path}, line 1 is longer" in refusal(read_tab_separated, path)
    path.write_bytes(zipped(b"a\tb\n" * 2_200_000))
    assert f"{path} unfolds to more than 50 times" in said_by(read_tab_separated, path)


@pytest.mark.parametrize(("bound", "most"), [("MOST_BYTES", 59), ("MOST_LINES", 29)])
def test_what_is_held_whole_is_bounded(tmp_path, monkeypatch, bound, most):
    path = tmp_path / "text"
    path.write_bytes(b"a\n" * 30)
    monkeypatch.setattr(files, bound, most + 1)
    assert len(read_lines(path)) == 30
    monkeypatch.setattr(files, bound, most)
    assert "holds more than" in refusal(read_lines, path)


def test_text_of_any_length_goes_through_the_store(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 100)
    path = tmp_path / "text"
    path.write_bytes(b"a sentence\n" * 1000)
    shards = [Shard(path, path)]
    assert sum(chunk.num_lines for chunk in chunks(shards)) == 1000
    assert "through the store" in refusal(read_shards, shards)


@pytest.mark.parametrize("compress", COMPRESS.values())
def test_the_threshold_of_the_store_counts_text_as_it_is_read(tmp_path, compress):
    path = tmp_path / "text"
    path.write_bytes(compress(b"a sentence\n" * 1000))
    shards = [Shard(path, path)]
    assert not are_larger(shards, 22_000)
    assert are_larger(shards, 21_999)


def test_a_chunk_of_long_lines_holds_fewer(tmp_path, monkeypatch):
    monkeypatch.setattr("seq2seq.text.shards.CHUNK_BYTES", 1_000_000)
    path, short = tmp_path / "long", tmp_path / "short"
    lines = [bytes([97 + number % 26]) * 20_000 for number in range(1000)]
    path.write_bytes(b"\n".join(lines))
    short.write_bytes(b"x\n" * len(lines))
    found = list(chunks([Shard(path, short)]))
    assert b"".join(chunk.source for chunk in found) == b"\n".join(lines) + b"\n"
    assert max(len(chunk.source) for chunk in found) < 1_000_000 + LINES_AT_ONCE * 20_001


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe: save" in refusal(read_lines, tmp_path / "pipe")
