import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from seq2seq.errors import InputError
from seq2seq.grammar.grammar import Grammar
from seq2seq.runs.making.corpora import grammar
from seq2seq.runs.making.corpus import made_meanwhile
from seq2seq.storage import cache
from seq2seq.storage.cache import MOST_FILES, cached
from tests.tiny import SMALL_CORPUS

ROOT = Path(__file__).parents[2]
DIGEST = "0a" * 32
FEW = ("data.train_pairs=30", *SMALL_CORPUS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "seq2seq"


def unwanted():
    raise AssertionError("made again")


def test_a_value_is_made_once(folder):
    assert cached("x", DIGEST, list[int], lambda: [1, 2]) == [1, 2]
    assert cached("x", DIGEST, list[int], unwanted) == [1, 2]
    assert cached("x", "0b" * 32, list[int], lambda: [3]) == [3]


@pytest.mark.parametrize("damage", [b"", b"[1,", b'["one"]', b"[1]" + b" " * 99])
def test_a_damaged_file_is_as_none(folder, damage, monkeypatch):
    monkeypatch.setattr(cache, "MOST_BYTES", 99)
    cached("x", DIGEST, list[int], lambda: [1])
    (path,) = folder.iterdir()
    path.write_bytes(damage)
    assert cached("x", DIGEST, list[int], lambda: [1, 2]) == [1, 2]
    assert cached("x", DIGEST, list[int], unwanted) == [1, 2]


def test_a_folder_that_cannot_be_written_to_is_none(folder):
    folder.write_text("a file")
    assert cached("x", DIGEST, list[int], lambda: [1]) == [1]


def test_a_folder_without_a_whole_path_is_not_the_users(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    cached("x", DIGEST, list[int], lambda: [1])
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_the_newest_few_are_kept_and_files_of_others(folder):
    folder.mkdir()
    (folder / "x-notes.json").write_text("of others")
    for number in range(MOST_FILES + 2):
        cached("x", f"{number:064x}", int, lambda: 1)
        os.utime(folder / f"x-{number:064x}.json", (number, number))
    kept = {path.name for path in folder.iterdir()}
    assert kept == {"x-notes.json"} | {f"x-{n:064x}.json" for n in range(2, MOST_FILES + 2)}


def test_the_built_in_corpus_is_sampled_once_for_each_of_its_settings(
    folder, configured, monkeypatch
):
    monkeypatch.setattr(grammar, "WORTH_KEEPING", range(1, 1000))
    of = {seed: configured(f"data.seed={seed}", *FEW).data for seed in (1, 2)}
    first, other = grammar.read(of[1]), grammar.read(of[2])
    monkeypatch.setattr(Grammar, "sample", lambda *_: unwanted())
    assert grammar.read(of[1]) == first
    assert grammar.read(of[2]) == other != first


def test_changed_rules_make_another_corpus(folder, configured, monkeypatch, tmp_path):
    monkeypatch.setattr(grammar, "WORTH_KEEPING", range(1, 1000))
    data = configured(*FEW).data
    grammar.read(data)
    changed = tmp_path / "rules"
    changed.mkdir()
    for path in (grammar.OWN / data.folder).iterdir():
        (changed / path.name).write_text(path.read_text("utf-8") + "\n# changed\n", "utf-8")
    data.folder = str(changed)
    monkeypatch.setattr(Grammar, "sample", lambda *_, **__: ["sampled"])
    assert grammar.read(data).train == ["sampled"]


def test_rules_beyond_what_a_grammar_may_be_are_refused_and_not_read_whole(
    folder, configured, monkeypatch, tmp_path
):
    monkeypatch.setattr(grammar, "WORTH_KEEPING", range(1, 1000))
    data = configured(*FEW).data
    data.folder = str(tmp_path / "rules")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "rules.yaml").write_bytes(b"#" * (2**20 + 1))
    (tmp_path / "rules" / "lexicon.yaml").write_text("{}", "utf-8")
    assert grammar._digest(data) is None
    with pytest.raises(InputError, match=r"rules\.yaml"):
        grammar.read(data)
    assert not folder.exists()


def test_another_process_makes_the_pairs_meanwhile(folder, configured, monkeypatch):
    data = configured("data.train_pairs=2000", "data.seed=3").data
    expected = Grammar.sample
    with made_meanwhile(data) as is_made:
        assert is_made
    monkeypatch.setattr(Grammar, "sample", unwanted)
    found = grammar.read(data)
    monkeypatch.setattr(Grammar, "sample", expected)
    (path,) = folder.iterdir()
    path.unlink()
    assert grammar.read(data) == found
    monkeypatch.setattr(subprocess, "Popen", unwanted)
    with made_meanwhile(data) as is_made:
        assert not is_made  # they are there


@pytest.mark.parametrize("overrides", [FEW, ("data=tasks", "data.task=reverse")], ids=str)
def test_what_is_soon_made_needs_no_other_process(folder, configured, monkeypatch, overrides):
    monkeypatch.setattr(subprocess, "Popen", unwanted)
    with made_meanwhile(configured(*overrides).data) as is_made:
        assert not is_made
    assert not folder.exists()


def test_nothing_is_made_for_a_folder_that_cannot_be_written_to(folder, configured, monkeypatch):
    folder.write_text("a file")
    monkeypatch.setattr(subprocess, "Popen", unwanted)
    with made_meanwhile(configured().data) as is_made:
        assert not is_made


def test_the_other_process_ends_with_what_is_refused_meanwhile(folder, configured, monkeypatch):
    started = []

    class Kept(subprocess.Popen):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Kept)
    with pytest.raises(InputError, match="refused"), made_meanwhile(configured().data):
        raise InputError("refused")
    (process,) = started
    assert process.returncode == -signal.SIGKILL
    assert not [*folder.glob("*.json")]


def test_rules_that_do_not_go_together_are_refused_here_though_another_process_read_them(
    folder, configured, tmp_path
):
    own = tmp_path / "own"
    shutil.copytree(ROOT / "data" / "grammar", own)
    (own / "rules.yaml").write_text("no: rules", "utf-8")
    data = configured(f"data.folder='{own}'").data
    with made_meanwhile(data) as is_made:
        assert is_made
    assert not [*folder.glob("*.json")]
    with pytest.raises(InputError, match=r"rules\.yaml"):
        grammar.read(data)
