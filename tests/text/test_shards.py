import bz2
import gzip
import lzma

import pytest

from seq2seq.errors import InputError
from seq2seq.text.corpus import SentencePair, Shard
from seq2seq.text.shards import (
    chunks,
    find_shards,
    first_pairs,
    num_bytes,
    read_shards,
    require_readable,
    sample_pairs,
)
from tests.stores import pairs_of, write_shards

PAIRS = pairs_of(300)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("seq2seq.text.shards.CHUNK_LINES", 16)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_shards_are_read_plain_and_compressed(tmp_path, compress):
    shards = write_shards(tmp_path, PAIRS, num_shards=3)
    for shard in shards:
        for path in (shard.source, shard.target):
            path.write_bytes(compress(path.read_bytes()))
    assert find_shards(f"{tmp_path}/*.source", f"{tmp_path}/?.target") == shards
    require_readable(shards)
    assert read_shards(shards) == first_pairs(shards, 1000) == PAIRS
    assert first_pairs(shards, 123) == PAIRS[:123]
    assert num_bytes(shards) == sum(path.stat().st_size for path in tmp_path.iterdir())


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_damaged_shards_are_refused_by_name(tmp_path, compress):
    (shard,) = write_shards(tmp_path, PAIRS, num_shards=1)
    shard.source.write_bytes(compress(shard.source.read_bytes())[:-30])
    with pytest.raises(InputError, match=rf"{shard.source} is a damaged (gzip|bzip2|xz) file"):
        list(chunks([shard]))


def test_a_byte_order_mark_and_a_missing_last_line_end_are_no_text(tmp_path):
    shard = Shard(tmp_path / "a", tmp_path / "b")
    shard.source.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    shard.target.write_bytes(b"un\ndeux\n")
    expected = [SentencePair("one", "un"), SentencePair("two", "deux")]
    assert first_pairs([shard], 9) == read_shards([shard]) == expected


@pytest.mark.parametrize(("num_source", "num_target"), [(40, 33), (32, 40), (40, 16)])
def test_a_line_without_a_partner_is_refused_as_in_memory(tmp_path, num_source, num_target):
    shard = Shard(tmp_path / "a", tmp_path / "b")
    shard.source.write_text("x\n" * num_source)
    shard.target.write_text("x\n" * num_target)
    messages = []
    for read in (lambda: list(chunks([shard])), lambda: read_shards([shard])):
        with pytest.raises(InputError) as caught:
            read()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert f"has {num_source} lines but" in messages[0]


def test_patterns_that_do_not_fit_are_refused(tmp_path):
    write_shards(tmp_path, PAIRS)
    with pytest.raises(InputError, match=r"are 2 files but .* are 1:"):
        find_shards(f"{tmp_path}/*.source", f"{tmp_path}/0.target")
    with pytest.raises(InputError, match="names no file"):
        find_shards(f"{tmp_path}/*.en", f"{tmp_path}/*.fr")
    (tmp_path / "a[1]").write_text("x\n")
    assert find_shards(f"{tmp_path}/a[1]", f"{tmp_path}/a[1]")[0].source.name == "a[1]"


def test_an_empty_file_is_refused(tmp_path):
    shard = Shard(tmp_path / "a", tmp_path / "b")
    shard.source.write_text("")
    shard.target.write_text("")
    with pytest.raises(InputError, match="a is empty"):
        list(chunks([shard]))


@pytest.mark.parametrize(("most", "every"), [(1000, 1), (300, 1), (299, 2), (40, 8)])
def test_a_sample_is_every_nth_pair(tmp_path, monkeypatch, most, every):
    shards = write_shards(tmp_path, PAIRS)
    for name, bound in {"MOST_PAIRS": most, "MOST_CHARACTERS": most * 60}.items():
        with monkeypatch.context() as patched:
            patched.setattr(f"seq2seq.text.sample.{name}", bound)
            sample, num_pairs = sample_pairs(shards, 0.0, 1)
        assert num_pairs == len(PAIRS)
        if name == "MOST_PAIRS":
            assert sample == PAIRS[::every]
        else:
            assert sample in [PAIRS[:: 2**power] for power in range(8)]
            assert sum(len(pair.source + pair.target) for pair in sample) <= bound


def test_pairs_that_are_held_out_are_not_in_the_sample(tmp_path):
    shards = write_shards(tmp_path, PAIRS)
    sample, _ = sample_pairs(shards, 0.3, 1)
    assert 0.5 < len(sample) / len(PAIRS) < 0.9
