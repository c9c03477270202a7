"""The doors to data that fetch, as a user goes through them."""

import gzip
import hashlib
import sys

import pytest

from seq2seq.commands import train
from seq2seq.text.multi30k import Selection
from tests.tiny import SMALL_MODEL

SMALL = [
    *SMALL_MODEL, "recipe=small", "data.tokenizer.max_size=340", "trainer.max_steps=2",
    "name=multi30k", "decoding.beam=1", "tensorboard.heatmaps=1",
]  # fmt: skip
STEMS = list(Selection("en", "cs", "flickr_2016").names())


@pytest.fixture
def published(file_server, grammar, monkeypatch):
    """A server with small files in place of Multi30k's, and their checksums in place of its."""
    sums = {}
    pairs = grammar.sample(60, 1, "train")
    for name in STEMS:
        side = "source" if name.endswith("en") else "target"
        text = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
        content = gzip.compress(text.encode())
        file_server.content[f"/raw/{name}.gz"] = content
        sums[name] = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr("seq2seq.text.multi30k.SHA256", sums)
    monkeypatch.setattr("seq2seq.text.multi30k.MD5", {})
    return file_server


@pytest.fixture
def command(file_server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")

    def run(*overrides):
        address = f"data.address={file_server.address}/raw/"
        languages = ["data.source_language=en", "data.target_language=cs"]
        arguments = ["data=multi30k", address, *languages, *SMALL, *overrides]
        monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
        return train.main()

    return run


@pytest.mark.long
def test_multi30k_fetches_what_it_lacks_and_trains(published, command, tmp_path, capsys):
    folder = tmp_path / "data" / "multi30k"
    folder.mkdir(parents=True)
    there = STEMS[2]
    (folder / there).write_bytes(gzip.decompress(published.content[f"/raw/{there}.gz"]))
    published.faults[:] = ["truncated", "", "503"]
    assert command() == 0
    printed = capsys.readouterr()
    assert "results " in printed.out
    assert printed.err == "fetching 5 files of Multi30k to data/multi30k\n"
    expected = {there, *(f"{name}.gz" for name in STEMS if name != there)}
    assert {path.name for path in folder.iterdir()} == expected
    num_requests = len(published.requests)
    assert command("check_corpus=true") == 0
    assert len(published.requests) == num_requests


def test_a_file_with_another_checksum_is_refused_and_not_kept(published, command, tmp_path, capsys):
    published.content[f"/raw/{STEMS[0]}.gz"] = wrong = gzip.compress(b"something else\n")
    assert command() == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"error: {published.address}/raw/train.en.gz: its SHA256 is ")
    assert hashlib.sha256(wrong).hexdigest() in said
    assert said.endswith("or set data.root to a folder that holds train.en.gz")
    assert list((tmp_path / "data" / "multi30k").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused(published, command, capsys):
    assert command("data.root=/proc/here") == 2
    said = "error: data.root=/proc/here cannot be made (No such file or directory)\n"
    assert capsys.readouterr().err == said


def test_the_real_files_pass_their_checksums(real_data, file_server, command, capsys):
    for path in (real_data / "multi30k").iterdir():
        file_server.content[f"/raw/{path.name}"] = path.read_bytes()
    overrides = ["data.target_language=fr", "check_corpus=true", "data.limit=100"]
    assert command(*overrides, "data.tokenizer.max_size=500") == 0
    assert "100" in capsys.readouterr().out
    assert len(file_server.requests) == 6
