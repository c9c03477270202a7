import json
import time

import pytest

from benchmarks import large_corpus, scale
from benchmarks.process_memory import EVERY_SECONDS, watched
from benchmarks.scale_corpus import write_corpus
from seq2seq.text.shards import read_shards
from tests.stores import pairs_of


@pytest.mark.long
def test_a_run_prints_a_column_for_each_size_and_cleans_up(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(scale, "_in_processes", lambda _, measure, *given: [measure(*given)])
    monkeypatch.setattr(scale, "_library", lambda *_: LIBRARY)
    monkeypatch.setattr(scale, "num_cores", lambda: 1)
    monkeypatch.setattr(scale, "HIDDEN", 4)
    monkeypatch.setattr(scale, "VOCABULARY", 600)
    monkeypatch.setattr(large_corpus, "GRAMMAR_PAIRS", 200)
    figures = tmp_path / "figures.json"
    folder = tmp_path / "scratch"
    folder.mkdir()
    arguments = ["--pairs", "1000", "2000", "--folder", str(folder), "--json", str(figures)]
    monkeypatch.setattr("sys.argv", ["large_corpus.py", *arguments])
    assert large_corpus.main() == 0
    assert not list(folder.iterdir())
    results = json.loads(figures.read_text())
    assert [found["pairs"] for found in results] == [1000, 2000]
    assert all(found["loader_over_training"] > 0 for found in results)
    assert capsys.readouterr().out.split()[:3] == ["pairs", "1,000", "2,000"]


LIBRARY = {"library_pairs_per_second": 1.0, "library_processor_seconds_per_pair": 1.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pairs", "10"], "at least 1000"),
        (["--source", "x"], "give both or neither"),
        (["--pairs", str(10**15)], "of room"),
    ],
)
def test_what_cannot_be_measured_is_refused(monkeypatch, capsys, arguments, message):
    monkeypatch.setattr(large_corpus, "GRAMMAR_PAIRS", 20)
    monkeypatch.setattr("sys.argv", ["large_corpus.py", *arguments])
    assert large_corpus.main() == 2
    assert message in capsys.readouterr().err


def test_a_varied_corpus_has_as_many_pairs_as_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.scale_corpus.PAIRS_PER_SHARD", 300)
    monkeypatch.setattr("benchmarks.scale_corpus.PAIRS_PER_WRITE", 70)
    base = [pair for pair in pairs_of(50) if pair.source and pair.target]
    shards = write_corpus(tmp_path, base, 700)
    pairs = read_shards(shards)
    assert (len(shards), len(pairs)) == (3, 700)
    assert len({pair.source for pair in pairs}) > 650


def test_memory_that_is_held_for_a_moment_is_seen():
    with watched() as peak:
        held = bytearray(b"x" * (64 << 20))
        time.sleep(20 * EVERY_SECONDS)
        del held
    assert peak.private_growth > 60 << 20
    assert peak.resident >= peak.private
