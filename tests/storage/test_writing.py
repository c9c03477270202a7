"""What is written is there whole or not at all, and nowhere else."""

import errno
import os
import stat
from pathlib import Path

import pytest

from seq2seq.errors import InputError
from seq2seq.runs.run_folder import tidy
from seq2seq.storage import writing
from seq2seq.storage.removal import remove_folder
from seq2seq.storage.writing import inside, open_own, replacing_folder, write_file

RANDOM = "0123456789abcdef"


@pytest.fixture
def outside(tmp_path):
    """A file of the user."""
    path = tmp_path / "elsewhere" / "thesis.txt"
    path.parent.mkdir()
    path.write_text("mine")
    yield path
    assert path.read_text() == "mine"
    assert [each.name for each in path.parent.iterdir()] == ["thesis.txt"]


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    return path


def test_a_file_is_replaced_and_the_one_before_is_kept_where_that_is_wanted(folder):
    write_file(folder / "a", "1")
    write_file(folder / "a", b"2", previous=folder / "b")
    write_file(folder / "deep" / "c", "3é")
    found = {path.name: path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}
    assert found == {"a": "2", "b": "1", "c": "3é"}


def test_a_link_where_a_file_is_written_is_replaced_and_not_followed(folder, outside):
    (folder / "a").symlink_to(outside)
    write_file(folder / "a", "ours")
    assert not (folder / "a").is_symlink()


def test_names_of_unfinished_files_cannot_be_foretold(folder, outside, monkeypatch):
    opened = []
    monkeypatch.setattr(writing, "new_file", lambda path: opened.append(path) or path.open("xb"))
    for _ in range(2):
        write_file(folder / "a", "ours")
    assert len(set(opened)) == 2
    assert not any(str(os.getpid()) in path.name.split(".") for path in opened)


def test_an_unfinished_file_is_never_opened_through_a_link(folder, outside):
    (folder / "a").symlink_to(outside)
    with pytest.raises(FileExistsError):
        writing.new_file(folder / "a")


@pytest.mark.parametrize("called", ["fsync", "replace"])
def test_a_disk_that_is_full_leaves_what_was_there(folder, monkeypatch, called):
    write_file(folder / "a", "before")

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*((os, "fsync") if called == "fsync" else (Path, "replace")), refuse)
    with pytest.raises(OSError, match="No space"):
        write_file(folder / "a", "after")
    assert [path.name for path in folder.iterdir()] == ["a"]
    assert (folder / "a").read_text() == "before"


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.ENOSYS])
def test_a_folder_that_cannot_be_flushed_is_a_warning_once(folder, monkeypatch, capsys, number):
    sync = os.fsync

    def refuse_folders(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        sync(descriptor)

    writing._say_unflushable.cache_clear()
    monkeypatch.setattr(os, "fsync", refuse_folders)
    for _ in range(3):
        write_file(folder / "a", "ours")
    assert (folder / "a").read_text() == "ours"
    assert capsys.readouterr().err.count("WARNING") == 1


def test_a_folder_whose_disk_fails_is_an_error(folder, monkeypatch):
    def fail(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        write_file(folder / "a", "ours")


@pytest.mark.parametrize("kind", ["link", "dangling", "second name", "folder", "pipe"])
def test_a_file_that_changes_in_place_is_a_plain_one_of_ours(folder, outside, kind):
    path = folder / "log.txt"
    {
        "link": lambda: path.symlink_to(outside),
        "dangling": lambda: path.symlink_to(outside.with_name("new")),
        "second name": lambda: path.hardlink_to(outside),
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
    }[kind]()
    with pytest.raises(InputError, match="no plain file"):
        os.close(open_own(path, os.O_WRONLY | os.O_CREAT))


def test_a_name_leads_out_of_a_folder_by_no_link(folder, outside):
    (folder / "tokenizer").symlink_to(outside.parent)
    (folder / "new").symlink_to(outside.parent / "not there")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "within").symlink_to(folder / "real")
    for name in ("tokenizer", "new", "tokenizer/source.json"):
        with pytest.raises(InputError, match="leads out of"):
            inside(folder, name)
    link = folder.with_name("link")
    link.symlink_to(folder)
    for name in (".", "within", "not/there"):
        assert inside(link, name) == link / name


def test_a_folder_is_replaced_whole_and_keeps_the_files_of_others(folder):
    place = folder / "model"
    for content in ("1", "2"):
        with replacing_folder(place, ["a"]) as new:
            write_file(new / "a", content)
        (place / "notes.txt").write_text("mine")
    assert {path.name: path.read_text() for path in place.iterdir()} == {
        "a": "2",
        "notes.txt": "mine",
    }
    assert [path.name for path in folder.iterdir()] == ["model"]


def filled(folder, error=None):
    with replacing_folder(folder / "model", ["a"]) as new:
        write_file(new / "a", "not whole" if error else "whole")
        if error:
            raise error


def test_a_folder_that_is_not_finished_leaves_the_one_before(folder):
    filled(folder)
    with pytest.raises(OSError, match="full"):
        filled(folder, OSError("full"))
    assert [path.read_text() for path in folder.glob("model/*")] == ["whole"]
    assert [path.name for path in folder.iterdir()] == ["model"]


def test_a_folder_that_cannot_take_its_place_leaves_the_one_before(folder, monkeypatch):
    filled(folder)

    def failing(path, target):
        raise OSError("no more")

    monkeypatch.setattr(writing, "move", failing)
    with pytest.raises(OSError, match="no more"), replacing_folder(folder / "model", ["a"]) as new:
        (new / "a").write_text("newer")
    assert [path.read_text() for path in folder.glob("model/*")] == ["whole"]
    assert [path.name for path in folder.iterdir()] == ["model"]


def test_what_is_removed_is_what_has_our_names(folder, outside):
    for name in ("a", "sub/b", f"sub/.b.{RANDOM}.partial", "sub/notes.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    (folder / "led").symlink_to(outside.parent)
    remove_folder(folder, ["a", "sub/b", "led/thesis.txt", "not/there"])
    assert sorted(path.name for path in folder.rglob("*")) == ["led", "notes.txt", "sub"]
    (folder / "sub" / "notes.txt").unlink()
    (folder / "led").unlink()
    remove_folder(folder, ["sub/b"])
    assert not folder.exists()


OURS = (
    ".ledger.json.123", ".config.yaml.7", f".metrics.json.{RANDOM}.partial",
    "checkpoints/.last.ckpt.123.partial", f"checkpoints/.best.ckpt.{RANDOM}.partial",
    f".model.{RANDOM}.partial/.model.json.{RANDOM}.partial", ".model.4711.partial/source.json",
    f"translations/.test.jsonl.{RANDOM}.partial", f"tokenizer/.source.model.{RANDOM}.partial",
)  # fmt: skip
OTHERS = (
    ".ledger.json.swp", ".notes.txt.123", "partial", "checkpoints/.mine.partial", "model/notes.txt",
    ".model.4712.partial/thesis.tex", "mine/.ledger.json.123", "checkpoints/last.ckpt",
)  # fmt: skip


def test_what_a_crash_left_half_written_is_removed_and_nothing_else(folder):
    for name in (*OURS, *OTHERS):
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(b"half")
    tidy(folder)
    left = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert left == set(OTHERS)


@pytest.mark.parametrize("name", ["checkpoints", "tokenizer", "translations", "model"])
def test_a_run_folder_whose_parts_lead_elsewhere_is_refused(folder, outside, name):
    (folder / name).symlink_to(outside.parent)
    with pytest.raises(InputError, match=f"{name} is a link that leads out"):
        tidy(folder)
